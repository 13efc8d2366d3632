"""The journal of a client's file system: a circular log, committed, reclaimed when full.

Each change of metadata adds a record to the journal. Dirty data and metadata are committed
periodically: in the ordered mode of ext3 the data go to the device first, while the client
continues in the next transaction. As long as the journal has room, nothing else is necessary. Once
it is full, a checkpoint makes room for new records: blocks whose records are discarded are written
to their home locations on the device, and the client waits for that. jbd considers a journal full
when less than 2/7 of it is free: it requires a quarter of the journal, and counts seven eighths of
the free space.

So runs with the same operations can differ. The journal of a new file system is empty: the first
few runs make no checkpoint, or only some of those that all later runs make. Each run leaves this
state to the next. In addition, a commit may or may not fall into a run, depending on the phase of
its clock.

Not modelled: early commits because a transaction has become too large, revoked records, and the
fact that records are whole blocks, each of which a transaction contains once.

Invariant: records of a run go through the journal in order; the block of a discarded record was
written before.

Source: Tweedie, *Journaling the Linux ext2fs Filesystem* (1998); jbd of Linux 2.6
(`__log_space_left`, `jbd_space_needed`).
"""

from dataclasses import dataclass

from headroom.simulation import Expression, Model, Program, draw, floor, uniform
from headroom.simulation.language.mechanisms import Mechanism
from headroom.systems.storage.devices.models.load import Request
from headroom.systems.storage.devices.models.numbers import KIB, ClientNumbers

PAGE_BYTES = 4 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The history of the file system before the run.

    Parameters
    ----------
    runs
        Fewest and most runs before this one; their number is drawn, each with equal chances.
    bytes_of_run
        Bytes of records that a run writes (B).
    """

    runs: tuple[int, int]
    bytes_of_run: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """The resources of the journal: programs and state of the client around it.

    Parameters
    ----------
    touch
        Program that makes the requested bytes dirty in the file cache.
    write_back_one
        Program that writes a stretch of the file cache to the device.
    carry
        Program that has the device carry out the request.
    cache
        The file cache.
    """

    touch: Program
    write_back_one: Program
    carry: Program
    cache: Mechanism


class Journal:
    """The journal.

    Parameters
    ----------
    model
        The model.
    client
        Numbers of the client.
    request
        What jobs carry.
    start
        Start of the journal on the device (B).
    earlier
        The history before the run.
    below
        What the journal uses.
    """

    def __init__(
        self,
        model: Model,
        client: ClientNumbers,
        request: Request,
        *,
        start: int,
        earlier: Earlier,
        below: Below,
    ) -> None:
        self._model, self._client, self._request = model, client, request
        self._start, self._earlier, self._below = start, earlier, below
        names = ("written", "owed", "next commit")
        self._at = {name: model.attribute(f"journal: {name}") for name in names}
        if client.commit_s > 0:
            self._commit = self._committing()

    @property
    def _bytes(self) -> int:
        return self._client.journal_mib * KIB * KIB

    def begin(self, walk: Program) -> None:
        """Let a job find the journal as the runs before have left it."""
        low, high = self._earlier.runs
        runs = floor(draw(uniform(low, high + 1)))
        walk.set(self._at["written"], runs * self._earlier.bytes_of_run)
        if self._client.commit_s > 0:
            walk.set(self._at["next commit"], draw(uniform(0, 1e3 * self._client.commit_s)))

    def record(self, program: Program, home: Expression) -> None:
        """Let a job write a record of the metadata at `home` (B).

        Commits and checkpoints due by then are made first.
        """
        at, client, request = self._at, self._client, self._request
        if client.commit_s > 0:
            with program.branch() as clock, clock.when(self._model.now >= at["next commit"]):
                program.call(self._commit)
                program.set(at["next commit"], at["next commit"] + 1e3 * client.commit_s)
        if client.journal_bytes == 0:
            return
        if client.checkpoint_share > 0:
            self._checkpoint(program, home)
        program.set(
            request.offset, self._start + at["written"] % (self._bytes - client.journal_bytes)
        )
        program.set(request.length, client.journal_bytes)
        program.set(at["written"], at["written"] + client.journal_bytes)
        program.call(self._below.touch)

    def _checkpoint(self, program: Program, home: Expression) -> None:
        """Write a block to its home location once that much of a full journal was discarded."""
        at, client, request = self._at, self._client, self._request
        with (
            program.branch() as full,
            full.when(at["written"] >= client.journal_full_share * self._bytes),
        ):
            program.set(at["owed"], at["owed"] + client.checkpoint_share * client.journal_bytes)
            with program.branch() as due, due.when(at["owed"] >= PAGE_BYTES):
                program.set(at["owed"], at["owed"] - PAGE_BYTES)
                program.set(request.offset, floor(home / PAGE_BYTES) * PAGE_BYTES)
                program.set(request.length, PAGE_BYTES)
                program.set(request.is_write, 1)
                program.call(self._below.carry)

    def _committing(self) -> Program:
        """Return the program that writes back, many requests at once, until nothing is dirty."""
        commit, flush = self._model.program("commit"), self._model.program("flush")
        dirty = self._below.cache.call("dirty_bytes") > 0
        with flush.network() as rest:
            with rest.node("look for dirty blocks", to={"write": dirty, rest.leave: None}):
                pass
            with rest.node("write", to="look for dirty blocks"):
                flush.call(self._below.write_back_one)
        with commit.loop(self._client.write_back_jobs):
            commit.start(flush)
        return commit
