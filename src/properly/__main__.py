"""``python -m properly`` is the command ``properly``."""

import sys

from properly.cli import main

if __name__ == "__main__":
    sys.exit(main())
