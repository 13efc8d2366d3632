"""PostMark on a modelled device: a client with a write-back file cache, and the device.

One job executes the operations of the benchmark (the mechanism ``storage.postmark``, which gives
those of a measured run with the same seed). Each of its cycles is a transaction, so its response
time is that of a transaction. The first cycle also creates the files. An operation takes processor
time, then accesses the cache of the file system: reads that miss are fetched, and written blocks
become dirty, together with the inode and a journal record. Background jobs write back from the
background threshold on; a client that finds no room writes back itself, as in Linux. Two devices
differ only in the time that they take for these requests.

Not modelled: the file system's reads of its own metadata, and barriers; PostMark never syncs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from headroom.errors import StudyError
from headroom.experiment.protocol.parameter_file import opening_comment, read_parameters
from headroom.experiment.protocol.system import Metric, Parameter, Value
from headroom.simulation import Attribute, Expression, Model, Program, SimulationResult
from headroom.systems.storage.devices.models.device import KINDS, PARAMETERS, checked, device_model
from headroom.systems.storage.devices.models.disks import DiskArray
from headroom.systems.storage.devices.models.journal import PAGE_BYTES, Below, Earlier, Journal
from headroom.systems.storage.devices.models.load import Request
from headroom.systems.storage.devices.models.numbers import (
    KIB,
    ArrayNumbers,
    ClientNumbers,
    DeviceNumbers,
    types_of,
)
from headroom.systems.storage.devices.models.postmark_parameters import (
    History,
    benchmark_parameters,
    earlier_runs,
)
from headroom.systems.storage.postmark.postmark_figures import RUN_S, WARM_UP_RATIO, warm_up_ratio
from headroom.systems.storage.workloads.workload_parameters import Postmark
from headroom.systems.storage.workloads.workload_table import pool_table

CREATE, READ, APPEND, DELETE, NOTHING = range(5)
"""Numbers of the kinds of operations."""
N = TypeVar("N", bound=DeviceNumbers | ClientNumbers)


@dataclass(frozen=True, slots=True)
class PostmarkModel:
    """A model function: PostMark on a device, whose parameters are those of all three parts.

    Parameters
    ----------
    name
        Name of the model.
    device_kind, device
        The device it runs on; see `device_model`.
    runs_before
        Fewest and most runs before this one on the file system.
    """

    name: str
    device_kind: str
    device: str | Path
    runs_before: tuple[int, int] = (0, 19)

    @property
    def __name__(self) -> str:
        """Name of the model, for messages."""
        return self.name

    @property
    def place(self) -> str:
        """The path of the device's file, for messages."""
        return device_model(self.device_kind, self.device).place

    @property
    def about(self) -> str:
        """The device's description in its parameter file."""
        return "PostMark on " + opening_comment(Path(self.place.rpartition(":")[0]))

    @property
    def own_metrics(self) -> tuple[Metric, ...]:
        """Metrics of a whole run, which has an end: its duration, and its warm-up."""
        return (RUN_S, WARM_UP_RATIO)

    def own_values(self, result: SimulationResult) -> dict[str, float]:
        """Return `own_metrics` of a run."""
        values = {RUN_S.name: float(result.snapshot_times_s[-1])}
        # The first batch includes the making of the files, which is not a transaction.
        ratio = warm_up_ratio(result.series[0].values[1:])
        return values if ratio is None else values | {WARM_UP_RATIO.name: ratio}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Numbers of the benchmark, of the client and of the device."""
        device = device_model(self.device_kind, self.device).device_parameters
        earlier = earlier_runs(*self.runs_before)
        return (*benchmark_parameters(), *earlier, *client_parameters(), *device)

    def __call__(self, **config: Value) -> Model:
        """Return the model with some numbers changed.

        Examples
        --------
        >>> from headroom.simulation import simulate
        >>> small = PostmarkModel("small", "dram_device", "ngs")(
        ...     postmark_files=50, postmark_transactions=100
        ... )
        >>> int(simulate(small, seed=1).classes.columns["completion_count"][-1].sum())
        100
        """
        values = checked(self.name, self.parameters, config)
        model = Model(f"PostMark: {self.name}", time_unit="ms")
        _Benchmark(model, values, self.device_kind).add()
        model.stop(completions=Postmark.of(values).postmark_transactions, is_all=True)
        model.counted_by_hand(
            highest_throughput=math.inf,
            why="the wait of an operation depends on the contents of the caches, which formulas "
            "do not know",
        )
        return model


def client_parameters() -> tuple[Parameter, ...]:
    """Return the numbers of the client."""
    path = PARAMETERS / "client.toml"
    return read_parameters(path, types_of(ClientNumbers), copy_of=path)


def _numbers(kind: type[N], values: Mapping[str, Value]) -> N:
    """Return the numbers of a kind among all values."""
    own: dict[str, Any] = {name: values[name] for name in types_of(kind)}
    return kind(**own)


class _Benchmark:
    """Builds the client, its file system and the device."""

    def __init__(self, model: Model, values: Mapping[str, Value], kind: str) -> None:
        self._model, self._asked, self._history = model, Postmark.of(values), History.of(values)
        self._client: ClientNumbers = _numbers(ClientNumbers, values)
        device = _numbers(KINDS[kind].numbers, values)
        self._target_bytes = device.target_bytes
        self._check_room()
        self._request = Request.of(model)
        self._carry = self._device(kind, device)
        self._postmark = model.mechanism(
            "operations", kind="storage.postmark", parameters=pool_table(values)
        )
        self._cache = model.mechanism(
            "file cache", kind="storage.cache", parameters=self._file_cache()
        )
        self._cpu = model.station("processor")
        self._jobs = model.pool("write-back jobs", tokens=self._client.write_back_jobs)
        names = ("kind", "bytes", "address", "ends", "made", "inode", "scratch")
        self._at = {name: model.attribute(name) for name in names}
        self._write_back_one = self._writing_back_one()
        self._write_back = self._writing_back()
        self._touch = self._touching()
        self._journal = self._journal_behind()

    def add(self) -> None:
        """Add the job that walks the operations."""
        walk, at = self._model.program("transaction"), self._at
        operation = self._operation()
        with walk.branch() as first, first.when(at["made"] == 0):
            self._journal.begin(walk)
            with walk.loop(self._asked.postmark_files):
                walk.call(operation)
            walk.set(at["made"], 1)
        with walk.network() as steps:
            with steps.node("operate", to={steps.leave: at["ends"] == 1, "again": None}):
                walk.call(operation)
            with steps.node("again", to="operate"):
                pass
        self._model.closed_class("transactions", walk, population=1, start="ready")

    @property
    def _slot_bytes(self) -> int:
        """Room of a file on the device, in whole pages."""
        return -(-self._asked.postmark_high_bytes // PAGE_BYTES) * PAGE_BYTES

    @property
    def _slots(self) -> int:
        return 2 * self._asked.postmark_files

    @property
    def _inode_start(self) -> int:
        return self._slots * self._slot_bytes

    @property
    def _journal_start(self) -> int:
        inodes = self._slots * self._client.inode_bytes
        return self._inode_start + (-(-inodes // PAGE_BYTES) + 1) * PAGE_BYTES

    @property
    def _used_bytes(self) -> int:
        return self._journal_start + self._client.journal_mib * KIB * KIB

    def _check_room(self) -> None:
        if self._used_bytes > self._target_bytes:
            raise StudyError(
                f"the files take {self._used_bytes} B, the device has {self._target_bytes} B",
                cure="lower postmark_files or postmark_high_bytes, or raise capacity_gb",
            )

    def _device(self, kind: str, device: DeviceNumbers) -> Program:
        if isinstance(device, ArrayNumbers):
            most = self._history.earlier_load_share * device.destage_high_share
            return DiskArray(
                self._model,
                device,
                self._request,
                left_shares=(0.0, most),
                left_range_bytes=self._inode_start,
            ).carry
        return KINDS[kind].build(self._model, device, self._request)

    def _file_cache(self) -> dict[str, object]:
        client = self._client
        return {
            "cache_bytes": int(client.file_cache_mib * KIB * KIB),
            "block_bytes": PAGE_BYTES,
            "capacity_bytes": self._target_bytes,
            "dirty_bytes": int(client.file_dirty_mib * KIB * KIB),
            "high_share": client.background_share,
            "low_share": 0.9 * client.background_share,
            "extent_bytes": client.write_back_kib * KIB,
        }

    def _journal_behind(self) -> Journal:
        low, high = self._history.earlier_runs_low, self._history.earlier_runs_high
        if low > high:
            raise StudyError(
                f"earlier_runs_low is {low}, more than earlier_runs_high, {high}",
                cure="give rising numbers",
            )
        return Journal(
            self._model,
            self._client,
            self._request,
            start=self._journal_start,
            earlier=Earlier(runs=(low, high), bytes_of_run=self._records_of_run),
            below=Below(
                touch=self._touch,
                write_back_one=self._write_back_one,
                carry=self._carry,
                cache=self._cache,
            ),
        )

    @property
    def _records_of_run(self) -> float:
        """Bytes (B) of records that a run writes on average: files made, changed and deleted."""
        asked, of_ten = self._asked, 10.0
        read, create = asked.postmark_bias_read, asked.postmark_bias_create
        changes = (create >= 0) + (1 - read / of_ten) * (read >= 0)
        return self._client.journal_bytes * (
            2 * asked.postmark_files + asked.postmark_transactions * changes
        )

    def _operation(self) -> Program:
        program, at, postmark, client = (
            self._model.program("operation"),
            self._at,
            self._postmark,
            self._client,
        )
        program.set(at["scratch"], postmark.call("next"))
        program.set(at["kind"], postmark.call("kind"))
        program.set(at["bytes"], postmark.call("bytes"))
        program.set(at["ends"], postmark.call("ends_transaction"))
        program.set(at["inode"], self._inode_start + postmark.call("slot") * client.inode_bytes)
        program.set(
            at["address"], postmark.call("slot") * self._slot_bytes + postmark.call("offset")
        )
        program.use(self._cpu, self._processor_ms())
        with program.branch() as what:
            with what.when(at["kind"] == READ):
                self._read(program)
            with what.when(at["kind"] == DELETE):
                with program.branch() as some, some.when(at["bytes"] > 0):
                    program.set(
                        at["scratch"], self._cache.call("forget", at["address"], at["bytes"])
                    )
                self._metadata(program)
            with what.when(at["kind"] != NOTHING):
                with program.branch() as some, some.when(at["bytes"] > 0):
                    program.set(self._request.offset, at["address"])
                    program.set(self._request.length, at["bytes"])
                    program.call(self._touch)
                self._metadata(program)
        return program

    def _processor_ms(self) -> Expression:
        """Return the processor time (ms) of an operation, from its kind and its number of bytes."""
        at, client = self._at, self._client
        moves = (at["kind"] != DELETE) & (at["kind"] != NOTHING)
        pages = (at["bytes"] + PAGE_BYTES) / PAGE_BYTES
        own = client.create_us * (at["kind"] == CREATE) + client.delete_us * (at["kind"] == DELETE)
        copied = moves * (at["bytes"] * (1e-3 * client.byte_ns) + pages * client.page_us)
        return 1e-3 * (client.operation_us * (at["kind"] != NOTHING) + own + copied)

    def _read(self, program: Program) -> None:
        """Fetch the blocks that are not in the file cache."""
        at, cache, request = self._at, self._cache, self._request
        with program.branch() as some, some.when(at["bytes"] > 0):
            program.set(request.length, cache.call("missing", at["address"], at["bytes"]))
            with program.branch() as missing, missing.when(request.length > 0):
                program.set(request.offset, cache.call("fetch_offset"))
                program.set(request.is_write, 0)
                program.call(self._carry)
                kept = cache.call("insert", request.offset, request.length)
                program.set(at["scratch"], kept)

    def _metadata(self, program: Program) -> None:
        """Make the inode and a record of the journal dirty."""
        at, client, request = self._at, self._client, self._request
        if client.inode_bytes > 0:
            program.set(request.offset, at["inode"])
            program.set(request.length, client.inode_bytes)
            program.call(self._touch)
        self._journal.record(program, at["inode"])

    def _touching(self) -> Program:
        """Return the program that makes the job's requested bytes dirty in the file cache."""
        touch, cache, request = (
            self._model.program("write to file cache"),
            self._cache,
            self._request,
        )
        offset, length = self._model.attribute("file offset"), self._model.attribute("file bytes")
        touch.set(offset, request.offset)
        touch.set(length, request.length)
        lacking = cache.call("lacking", offset, length)
        with touch.network() as room:
            with room.node("look for room", to={"make room": lacking > 0, room.leave: None}):
                pass
            with room.node("make room", to="look for room"):
                touch.call(self._write_back_one)
        touch.set(length, cache.call("write", offset, length))
        wants = (self._model.free(self._jobs) > 0) & cache.call("wants_destage")
        with touch.branch() as mark, mark.when(wants):
            touch.start(self._write_back)
        return touch

    def _writing_back(self) -> Program:
        """Return the program that writes back until the file cache is satisfied."""
        back, cache = self._model.program("write back"), self._cache
        with back.holding(self._jobs), back.network() as mark:
            node = {"write": cache.call("wants_destage"), mark.leave: None}
            with mark.node("look at mark", to=node):
                pass
            with mark.node("write", to="look at mark"):
                back.call(self._write_back_one)
        return back

    def _writing_back_one(self) -> Program:
        """Return the program that writes one stretch of the file cache to the device."""
        program, cache, request = self._model.program("write back one"), self._cache, self._request
        program.set(request.length, cache.call("destage"))
        with program.branch() as some:
            with some.when(request.length > 0):
                program.set(request.offset, cache.call("destage_offset"))
                program.set(request.is_write, 1)
                start, length = self._sent(program)
                program.call(self._carry)
                program.set(request.length, cache.call("destaged", start, length))
            with some.otherwise():
                # All dirty data is on its way: a waiting writer looks again a little later.
                program.delay(0.1)
        return program

    def _sent(self, program: Program) -> tuple[Attribute, Attribute]:
        """Keep the sent request in separate attributes: the device may use those of the request."""
        start, length = (self._model.attribute(f"sent {word}") for word in ("offset", "bytes"))
        program.set(start, self._request.offset)
        program.set(length, self._request.length)
        return start, length


NGS = PostmarkModel("postmark_ngs", "dram_device", "ngs")
"""PostMark on the DRAM device of Kang and Cheong."""
EVA4400 = PostmarkModel("postmark_eva4400", "disk_array", "eva4400", runs_before=(4, 19))
"""PostMark on the disk array of Kang and Cheong."""
