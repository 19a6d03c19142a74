"""Wrong use of a function or command; apart from other rules, so that commands can name it without loading NumPy."""


class Misuse(ValueError):
    """What was asked for makes no sense, or not for these data: on the command line, exit code 2.

    Such as a column that as a whole cannot be what it was named for: another one might do. A value that is wrong in
    some row is an error of the data, exit code 1.
    """
