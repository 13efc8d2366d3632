"""Shell quoting for messages that a user copies."""

import re
import shlex

_PLAIN = re.compile(r"[\w/.:,+=@%~-]+( [\w/.:,+=@%~-]+)*")


def quoted(words: str) -> str:
    """Return words as one argument of a command line, including any spaces and line breaks.

    Examples
    --------
    >>> print(quoted("/dev/sdb 4096"), quoted("/tmp/it's  mine 1"))
    "/dev/sdb 4096" '/tmp/it'"'"'s  mine 1'
    """
    return f'"{words}"' if _PLAIN.fullmatch(words) else shlex.quote(words)


def one_spaced(words: str) -> str:
    """Return a name and a number as they are compared: spaces in the name count, others do not.

    Examples
    --------
    >>> one_spaced("  /tmp/two  spaces   12 "), one_spaced("alone")
    ('/tmp/two  spaces 12', 'alone')
    """
    name, _, number = words.strip().rpartition(" ")
    return f"{name.rstrip(' ')} {number}" if name else number
