"""Wrong use of a function or command; apart from other rules, so that commands can name it without loading NumPy."""


class Misuse(ValueError):
    """What was asked for makes no sense, whatever the data: on the command line, exit code 2."""
