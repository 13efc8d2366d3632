"""Job files of fio, read into studies.

Invariant: what a file says is translated, is known to change no result, or is refused with its
line; nothing is dropped in silence. Text in, study out: nothing that a file names is opened.
"""

from headroom.systems.storage.fio.read import read_fio

__all__ = ["read_fio"]
