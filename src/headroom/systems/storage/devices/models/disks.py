"""Mechanical disks in a model: a single disk, and an array of disks behind controllers."""

from headroom.simulation import Attribute, Model, Program, Station
from headroom.simulation.language.expression import Operand
from headroom.systems.storage.devices.models.load import Request
from headroom.systems.storage.devices.models.numbers import ArrayNumbers, DiskNumbers

_ROTATED_PARITY = 5
"""RAID level whose small writes read the old data and parity before."""


class DiskGroup:
    """Disks, each with its own queue, and the programs that use them.

    Parameters
    ----------
    model
        The model.
    numbers
        Numbers of a disk.
    count
        Disks.
    """

    def __init__(self, model: Model, numbers: DiskNumbers, count: int) -> None:
        self.heads = model.mechanism(
            "disks", kind="storage.disks", parameters=numbers.mechanism(count)
        )
        self.place = model.attribute("place on disk")
        self.length = model.attribute("bytes on disk")
        self.stations = [
            self._station(model, numbers, "disk" if count == 1 else f"disk {number + 1}")
            for number in range(count)
        ]

    def _station(self, model: Model, numbers: DiskNumbers, name: str) -> Station:
        group = "" if name == "disk" else "disks"
        if numbers.disk_order == "fcfs":
            return model.station(name, group=group)
        # The disk sorts what waits by the cylinder to which the arm must move.
        cylinder = self.heads.call("cylinder", self.place)
        return model.station(name, group=group, discipline="elevator", position=cylinder)

    def use(self, program: Program, disk: int, is_write: Operand) -> None:
        """Let a job read or write what `place` and `length` say at one disk."""
        time = self.heads.call("service", disk, self.place, self.length, is_write)
        program.use(self.stations[disk], time)

    def use_one(self, program: Program, disk: Attribute, is_write: Operand) -> None:
        """Let a job do that at the disk whose number is in an attribute."""
        with program.branch("index", by=disk) as chosen:
            for number in range(len(self.stations)):
                with chosen.case():
                    self.use(program, number, is_write)


def build_disk(model: Model, numbers: DiskNumbers, request: Request) -> Program:
    """Add a disk and return the program that carries out a request at it."""
    group = DiskGroup(model, numbers, 1)
    carry = model.program("carry out")
    carry.set(group.place, request.offset)
    carry.set(group.length, request.length)
    group.use(carry, 0, request.is_write)
    return carry


class DiskArray:
    """Disks behind controllers that have a cache for reads and writes.

    A write is acknowledged when it is in the cache. Dirty blocks go to the disks from the high
    water mark on until the low one, by jobs that no other job waits for; a write that finds no room
    writes back itself until there is some, so a full cache lets writers in as fast as disks take.

    Parameters
    ----------
    model
        The model.
    numbers
        Numbers of the array.
    request
        What jobs carry.
    left_shares, left_range_bytes
        What an earlier load left dirty; see `ArrayNumbers.cache`.
    """

    def __init__(
        self,
        model: Model,
        numbers: ArrayNumbers,
        request: Request,
        *,
        left_shares: tuple[float, float] = (0.0, 0.0),
        left_range_bytes: int = 0,
    ) -> None:
        self._model = model
        self._numbers = numbers
        self._request = request
        self._group = DiskGroup(model, numbers, numbers.disks)
        self._layout = model.mechanism("layout", kind="storage.layout", parameters=numbers.layout())
        self._cache = model.mechanism(
            "array cache",
            kind="storage.cache",
            parameters=numbers.cache(left_shares, left_range_bytes),
        )
        self._link = model.station("link")
        self._controllers = model.station("controllers", servers=numbers.controllers)
        self._destagers = model.pool("destage jobs", tokens=numbers.destage_jobs)
        self._start = model.attribute("extent offset")
        self._bytes = model.attribute("extent length")
        self._disk = model.attribute("disk")
        self._mirror = model.attribute("second disk")
        self._on_disks = {is_write: self._access(is_write=is_write) for is_write in (False, True)}
        self._destage_one = self._destaging()
        self._destage = self._destaging_on()
        self.carry = self._carrying()

    def _carrying(self) -> Program:
        """Return the program that carries out a request."""
        carry, request, numbers = self._model.program("carry out"), self._request, self._numbers
        link_ms = 1e-3 * numbers.link_overhead_us + request.length / (numbers.link_mb_s * 1e3)
        carry.use(self._controllers, 1e-3 * numbers.controller_us)
        with carry.branch() as kind:
            with kind.when(request.is_write == 1):
                carry.use(self._link, link_ms)
                carry.call(self._writing())
            with kind.otherwise():
                carry.call(self._reading())
                carry.use(self._link, link_ms)
        return carry

    def _reading(self) -> Program:
        read, request, cache = self._model.program("read"), self._request, self._cache
        read.set(self._bytes, cache.call("missing", request.offset, request.length))
        with read.branch() as some, some.when(self._bytes > 0):
            read.set(self._start, cache.call("fetch_offset"))
            read.call(self._on_disks[False])
            read.set(self._bytes, cache.call("insert", self._start, self._bytes))
        return read

    def _writing(self) -> Program:
        write, request, cache = self._model.program("write"), self._request, self._cache
        lacking = cache.call("lacking", request.offset, request.length)
        with write.network() as room:
            with room.node("look for room", to={"make room": lacking > 0, room.leave: None}):
                pass
            with room.node("make room", to="look for room"):
                write.call(self._destage_one)
        write.set(self._bytes, cache.call("write", request.offset, request.length))
        wants = (self._model.free(self._destagers) > 0) & cache.call("wants_destage")
        with write.branch() as mark, mark.when(wants):
            write.start(self._destage)
        return write

    def _destaging_on(self) -> Program:
        """Return the program that writes back until the low mark."""
        destage, cache = self._model.program("destage"), self._cache
        with destage.holding(self._destagers), destage.network() as mark:
            node = {"write back": cache.call("wants_destage"), mark.leave: None}
            with mark.node("look at mark", to=node):
                pass
            with mark.node("write back", to="look at mark"):
                destage.call(self._destage_one)
        return destage

    def _destaging(self) -> Program:
        """Return the program that writes the next extent back."""
        destage, cache = self._model.program("destage one"), self._cache
        destage.set(self._bytes, cache.call("destage"))
        with destage.branch() as some:
            with some.when(self._bytes > 0):
                destage.set(self._start, cache.call("destage_offset"))
                destage.call(self._on_disks[True])
                destage.set(self._bytes, cache.call("destaged", self._start, self._bytes))
            with some.otherwise():
                # Every dirty block is on its way: wait for a turn, as a controller polls.
                destage.delay(60e3 / self._numbers.rpm)
        return destage

    def _access(self, *, is_write: bool) -> Program:
        """Return the program that moves an extent between the cache and the disks."""
        access, layout = (
            self._model.program(f"disks: {'write' if is_write else 'read'}"),
            self._layout,
        )
        touched = layout.call("disks_touched", self._start, self._bytes)
        with access.branch() as spread:
            with spread.when(touched == 1):
                self._on_one(access, is_write=is_write)
            with spread.otherwise():
                self._on_all(access, is_write=is_write)
        return access

    def _on_one(self, access: Program, *, is_write: bool) -> None:
        """Move data within one disk, with the accesses required by redundancy."""
        layout, group = self._layout, self._group
        access.set(self._disk, layout.call("disk", self._start))
        access.set(group.place, layout.call("place", self._disk, self._start, self._bytes))
        access.set(group.length, self._bytes)
        level = self._numbers.raid_level
        if not is_write or level == 0:
            group.use_one(access, self._disk, float(is_write))
            return
        partner = {1: "mirror", _ROTATED_PARITY: "parity_disk"}[level]
        access.set(self._mirror, layout.call(partner, self._start))
        with access.fork() as both:
            for disk in (self._disk, self._mirror):
                with both.arm():
                    if level == _ROTATED_PARITY:
                        # New parity follows from old data and old parity: the small write.
                        group.use_one(access, disk, 0.0)
                    group.use_one(access, disk, 1.0)

    def _on_all(self, access: Program, *, is_write: bool) -> None:
        """Move the stretch of each disk that is touched, all at the same time.

        Parity of data on several disks is written with it: its strips are between the data's.
        """
        layout, group = self._layout, self._group
        with access.fork() as all_disks:
            for disk in range(self._numbers.disks):
                with all_disks.arm():
                    source = disk - disk % 2 if self._numbers.raid_level == 1 else disk
                    if source != disk and not is_write:
                        access.set(group.length, 0)
                    else:
                        access.set(
                            group.length, layout.call("bytes", source, self._start, self._bytes)
                        )
                    with access.branch() as touched, touched.when(group.length > 0):
                        place = layout.call("place", source, self._start, self._bytes)
                        access.set(group.place, place)
                        group.use(access, disk, float(is_write))
