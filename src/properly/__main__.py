"""``python -m properly`` is the command ``properly``."""

import sys

try:
    from properly.cli import main
except KeyboardInterrupt:  # before anything has begun
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
