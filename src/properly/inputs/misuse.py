"""Wrong use, apart from wrong data."""


class Misuse(ValueError):
    """Options that contradict each other or the data; on the command line, exit code 2."""
