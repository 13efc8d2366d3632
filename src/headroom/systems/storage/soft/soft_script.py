"""The script of a soft device, from a study or a file, typed and checked.

It has the same keys as the core reads (`soft/script.rs`). Times are in seconds, sizes in bytes;
requests of a kind are counted from 1.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from headroom.errors import StudyError

Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, lt=1e6)]
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Size: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a script: unknown keys are refused."""


class Stall(_Table, frozen=True):
    """A time in which nothing is served; services in progress take that much longer."""

    at_s: Seconds
    for_s: Seconds


class ScriptedError(_Table, frozen=True, omit_defaults=True):
    """Requests that fail."""

    kind: Literal["read", "write", "flush", "trim"] | None = None
    """Requests of this kind only."""
    offset: Size = 0
    """First byte of the range whose requests fail."""
    bytes: Number | None = None
    """Length of the range; to the end of the device without it."""
    errno: Number = 5
    """Error number; EIO without it."""
    times: Number | None = None
    """How many requests fail; all without it."""


class Torn(_Table, frozen=True):
    """A write that is acknowledged and of which only the first bytes are kept."""

    write: Number
    kept_bytes: Size


class Misdirected(_Table, frozen=True):
    """A write that is acknowledged and put elsewhere."""

    write: Number
    to: Size


class SoftScript(_Table, frozen=True, omit_defaults=True):
    """A whole script; without any key every request takes 1 us and nothing goes wrong.

    Examples
    --------
    >>> SoftScript(read_s=[1e-4, 2e-3], lost=[7]).job()
    {'read_s': [0.0001, 0.002], 'lost': [7]}
    """

    servers: Annotated[int, msgspec.Meta(ge=0, le=65_536)] = 0
    """Requests served at once; 0 serves all at once."""
    read_s: list[Seconds] = []
    """Service times of reads, one after the other, and again from the start at the end."""
    write_s: list[Seconds] = []
    flush_s: list[Seconds] = []
    stalls: list[Stall] = []
    errors: list[ScriptedError] = []
    torn: list[Torn] = []
    lost: list[Number] = []
    """Writes that are acknowledged and not kept."""
    misdirected: list[Misdirected] = []
    is_volatile: bool = False
    """Whether data written since the last flush are lost with the power."""
    survivor_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """Share of the pages written since the last flush that a loss of power leaves as they are."""
    flush_lies: bool = False
    """Whether flushes are acknowledged without keeping anything."""
    vanishes_at_s: Seconds | None = None
    """From then on every request fails with ENODEV."""

    def job(self) -> dict[str, Any]:
        """Return the script as the core reads it."""
        table: dict[str, Any] = msgspec.to_builtins(self)
        return table

    def check(self, size_bytes: int) -> None:
        """Refuse a script that does not fit a device of `size_bytes`.

        Raises
        ------
        StudyError
            A write is put behind the end, or a write is to be treated in two ways.
        """
        beyond = [entry for entry in self.misdirected if entry.to >= size_bytes]
        if beyond:
            raise StudyError(
                f"the script puts write {beyond[0].write} to byte {beyond[0].to} of a device of "
                f"{size_bytes} bytes",
                cure="name a byte of the device, or make it larger (`bytes`)",
            )
        changed = [
            *self.lost,
            *(entry.write for entry in self.torn),
            *(entry.write for entry in self.misdirected),
        ]
        twice = sorted({write for write in changed if changed.count(write) > 1})
        if twice:
            raise StudyError(
                f"the script has two entries for write {twice[0]}",
                cure="name each write once: lost, torn or misdirected",
            )
