"""Errors for bad input. Each says what is wrong, where, and what to do; the command line prints it and exits with 2."""


class EvenhandError(Exception):
    """Anything a user can put right; shown as one message without a traceback."""


class ConfigError(EvenhandError):
    """A config file, key or override is wrong."""


class DataError(EvenhandError):
    """A data file, run directory or record is wrong."""


class ModelError(EvenhandError):
    """A model, checkpoint, tokenizer or server cannot be used as asked."""


class NotReached(ModelError):
    """No server is ready at the address, or none can be reached from here."""


def one_line(error: Exception) -> str:
    """Another library's error, on a line."""
    return f"{type(error).__name__}: {short(error)}"


def short(text: object) -> str:
    """A message on one line, cut where it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= 300 else f"{line[:300]} ..."
