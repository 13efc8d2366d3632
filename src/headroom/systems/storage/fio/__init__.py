"""Convert fio job files to studies.

Invariant: every option of a file is translated, is known to change no result, or is rejected with
its line; nothing is dropped silently. Text in, study out: no file that it names is opened.
"""

from headroom.systems.storage.fio.read import read_fio

__all__ = ["read_fio"]
