"""Targets: from the table of a study to open descriptors, through every check of `safety`.

Invariant: the target that `opened` yields is closed when its block ends; the engine gets
descriptors and never a path.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.system import Confirmation, Value
from headroom.quantities import format_percent, format_quantity
from headroom.systems.storage.targets import safety
from headroom.systems.storage.targets.blank import blank_places, blank_words
from headroom.systems.storage.targets.device_facts import (
    alignment_of,
    disk_below,
    facts_of,
    identity_of,
)
from headroom.systems.storage.targets.laying_out import allows_direct, forget
from headroom.systems.storage.targets.patience import (
    SILENCE_S,
    NoAnswerError,
    Progress,
    close,
    within,
)
from headroom.systems.storage.targets.places import is_memory, resolve
from headroom.systems.storage.targets.session import SESSION, Session, Wanted
from headroom.systems.storage.targets.setup_table import TargetTable
from headroom.systems.storage.targets.signatures import in_words
from headroom.systems.storage.workloads.sizes import parse_bytes
from headroom.systems.storage.workloads.snia_cells import Snia
from headroom.systems.storage.workloads.workload_parameters import (
    Asked,
    Data,
    Micro,
    Postmark,
    Requests,
)
from headroom.systems.storage.workloads.workload_table import is_open, writes

DEFAULT_BYTES = 1 << 30
MOSTLY_THERE = 0.99
"""Share of a target that is written from which reads are those of the device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A target that is open.

    Parameters
    ----------
    plan
        Table `target` of a job.
    size_bytes
        Bytes that the workload sees.
    alignment
        Multiple (B) that requests must have.
    is_direct
        Whether requests go past the page cache.
    is_memory
        Whether it is in memory, for which a ring is the wrong tool.
    remarks
        What a reader must know.
    """

    plan: Mapping[str, Any]
    size_bytes: int
    alignment: int
    is_direct: bool
    is_memory: bool
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A named target of a study.

    Parameters
    ----------
    name, table
        As the study has it.
    study
        Folder of the study.
    reserve
        Bytes that stay free.
    silence_s
        How long (s) is waited for a call that does not return.
    session
        Keeps the files made.
    """

    name: str
    table: TargetTable
    study: Path
    reserve: int
    silence_s: float = SILENCE_S
    session: Session = SESSION

    @property
    def path(self) -> Path:
        """The target's location on this machine."""
        return resolve(self.table.path or "{disk}", study=self.study)

    @property
    def is_made(self) -> bool:
        """Whether Headroom makes its own files there."""
        if self.table.kind != "file":
            return self.table.kind == "folder"
        # Anything there that is not a folder belongs to the user, even if it is not a file: a
        # device.
        return self.path.is_dir() or not self.path.exists()

    @property
    def made_bytes(self) -> int:
        """Size (B) of the files made."""
        return DEFAULT_BYTES if self.table.bytes is None else parse_bytes(self.table.bytes)

    def existing(self) -> safety.Existing | None:
        """Return the user's device or file that this is, None if there is none."""
        if self.table.kind == "block_device":
            return safety.examine_device(self.path)
        if self.table.kind == "file" and not self.is_made:
            return safety.examine_file(self.path)
        return None

    def confirmations(self, config: Mapping[str, Value]) -> tuple[Confirmation, ...]:
        """Return the confirmations needed before `config` may run.

        Raises
        ------
        EnvironmentUnfitError
            It writes to a target that is in use or read-only, which no words allow.
        """
        existing = self.existing() if writes(config) else None
        if existing is None:
            return ()
        safety.check_writable(existing)
        self.session.confirmed.setdefault(existing.words, existing.marks)
        return (Confirmation(words=existing.words, holds=in_words(existing.contents)),)

    def foresight(self, config: Mapping[str, Value]) -> tuple[str, ...]:
        """Return the files and writes of a run there, in sentences."""
        if self.table.kind in {"nothing", "soft"}:
            return ()
        said = []
        if Asked.of(config).workload == "postmark":
            said.append(f"target {self.name}: {_files_of_postmark(config, self.path)}")
        if self.is_made and Asked.of(config).workload != "postmark":
            size = format_quantity(self.made_bytes, "B")
            said.append(f"target {self.name}: writes files of {size} in {self.path}, removed after")
        if writes(config) and Asked.of(config).workload != "postmark":
            said.append(f"target {self.name}: {_written(config, self.size_bytes())}")
        return tuple(said)

    def facts(self) -> str:
        """Return the system's facts about its location, in one line."""
        if self.table.kind in {"nothing", "soft"}:
            return self.table.kind
        return facts_of(self.path, is_device=self.table.kind == "block_device")

    def identity(self) -> str:
        """Return what distinguishes the current content from what may be there tomorrow."""
        if self.table.kind in {"nothing", "soft"}:
            return ""
        return identity_of(self.path, is_device=self.table.kind == "block_device")

    def disk(self) -> Path | None:
        """Return the kernel's folder for the disk below it, None if there is not exactly one."""
        if self.table.kind in {"nothing", "soft"}:
            return None
        return disk_below(self.path, is_device=self.table.kind == "block_device")

    def checked_facts(self) -> str:
        """Return the facts of a place that fits.

        Raises
        ------
        EnvironmentUnfitError
            It does not; see `check`.
        """
        self.check()
        return self.facts()

    def check(self) -> None:
        """Refuse a place that does not fit, before anything else is done.

        Raises
        ------
        EnvironmentUnfitError
            It is missing, no device, not writable, or too small.
        """
        if self.table.kind in {"nothing", "soft"}:
            return
        if self.is_made:
            safety.check_may_create(self.path)
        else:
            self.size_bytes()

    @contextmanager
    def opened(self, config: Mapping[str, Value], typed: Sequence[str]) -> Iterator[Opened]:
        """Open the target for one run, laid out if needed.

        Parameters
        ----------
        config
            Value of every parameter.
        typed
            Confirmations of the user.

        Raises
        ------
        HeadroomError
            It cannot be opened so, or has not answered for `silence_s` (s).
        """
        if self.table.kind == "nothing":
            size = self.made_bytes
            plan = {"kind": "nothing", "bytes": size}
            yield Opened(plan=plan, size_bytes=size, alignment=1, is_direct=False, is_memory=True)
            return
        if self.table.kind == "soft":
            size = self.made_bytes
            plan = {"kind": "soft", "bytes": size, "script": self.table.script.job()}
            yield Opened(plan=plan, size_bytes=size, alignment=1, is_direct=False, is_memory=False)
            return
        with ExitStack() as stack:
            yield self._open_in_time(config, typed, stack)

    def _open_in_time(
        self, config: Mapping[str, Value], typed: Sequence[str], stack: ExitStack
    ) -> Opened:
        progress = Progress()

        def work() -> Opened:
            opened = self._open_files(config, typed, stack, progress)
            if not progress.is_wanted:
                stack.close()  # the caller has left its block: files opened since are Headroom's
            return opened

        try:
            return within(self.silence_s, work, what=f"target {self.name!r}", progress=progress)
        except NoAnswerError:
            self.session.leave(self.path)
            raise

    def _open_files(
        self,
        config: Mapping[str, Value],
        typed: Sequence[str],
        stack: ExitStack,
        progress: Progress,
    ) -> Opened:
        is_written = writes(config)
        existing = self.existing()
        if existing is None:
            safety.check_may_create(self.path)
            paths = self.session.files(self.wanted(config), progress=progress)
            opened = [safety.examine_own_file(path, self.session.number_of(path)) for path in paths]
        else:
            if is_written:
                safety.check_allowed(existing, typed)
                safety.check_confirmed(existing, self.session.confirmed.get(existing.words))
            opened = [existing]
        in_memory = is_memory(opened[0].path) and not opened[0].is_device
        direct = _is_direct(Asked.of(config).direct, opened[0].path, in_memory=in_memory)
        files = []
        for target in opened:
            descriptor = safety.open_existing(target, is_written=is_written, direct=direct)
            stack.callback(close, descriptor, self.silence_s)
            if not direct:
                forget(descriptor)
            files.append({"fd": descriptor, "bytes": target.size_bytes})
        if existing is not None:
            files[0]["bytes"] = self.size_bytes()
        alignment = alignment_of(opened[0].path, is_device=opened[0].is_device) if direct else 1
        return Opened(
            plan={"kind": "files", "files": files, "alignment": alignment},
            size_bytes=sum(file["bytes"] for file in files),
            alignment=alignment,
            is_direct=direct,
            is_memory=in_memory,
            remarks=(
                *_cache_remarks(Asked.of(config).direct, direct=direct, in_memory=in_memory),
                *_content_remarks(config, is_found=existing is not None, is_written=is_written),
                *(_hole_remarks(config, existing) or self._blank_remarks(config, existing, files)),
            ),
        )

    def _blank_remarks(
        self, config: Mapping[str, Value], existing: safety.Existing | None, files: Sequence[Any]
    ) -> tuple[str, ...]:
        """Report that much of the data read is blank; checked once a session.

        Not of a file that a server keeps: a read asks that server, which may never answer, and
        its cache and not a drive decides what a read costs.
        """
        if existing is None or not _reads(config):
            return ()
        if not existing.is_device and self.disk() is None:
            return ()
        if existing.words not in self.session.blank:
            size = min(existing.size_bytes, files[0]["bytes"])
            self.session.blank[existing.words] = blank_places(files[0]["fd"], size)
        return tuple(
            filter(None, [blank_words(str(existing.path), *self.session.blank[existing.words])])
        )

    def wanted(self, config: Mapping[str, Value]) -> Wanted:
        """Return the files made for a run of `config`.

        Raises
        ------
        StudyError
            They would have no size.
        """
        count = self.table.files
        size = self.made_bytes // count // 4096 * 4096
        if size == 0:
            raise StudyError(
                f"target {self.name!r} has {count} files in {self.made_bytes} bytes",
                cure="give 4096 bytes or more for each file",
            )
        return Wanted(
            parent=self.path,
            size=size,
            count=count,
            compressible_share=Data.of(config).compressible_share,
            reserve=self.reserve,
        )

    def size_bytes(self) -> int:
        """Return the bytes that the workload sees; raises `EnvironmentUnfitError` if too few."""
        existing = self.existing()
        if existing is None:
            return self.made_bytes
        wanted = existing.size_bytes if self.table.bytes is None else self.made_bytes
        if existing.size_bytes == 0 or wanted > existing.size_bytes:
            raise EnvironmentUnfitError(
                f"target {self.name!r} ({existing.path}) has {existing.size_bytes} bytes, but "
                f"the study asks for {wanted}",
                cure="give less as `bytes`, leave it out to use all, or name another target",
            )
        return wanted


def _is_direct(wish: str, path: Path, *, in_memory: bool) -> bool:
    """Return whether to go past the page cache; in memory there is nothing behind it."""
    if wish == "auto":
        return not in_memory and allows_direct(path)
    return wish == "yes"


def _cache_remarks(wish: str, *, direct: bool, in_memory: bool) -> tuple[str, ...]:
    if direct or in_memory:
        return ()
    if wish == "no":
        return ("the page cache takes part (direct = no): it was emptied before the run only",)
    return (
        "the file system has no direct access: the page cache takes part, emptied before the run",
    )


def _content_remarks(
    config: Mapping[str, Value], *, is_found: bool, is_written: bool
) -> tuple[str, ...]:
    if not Data.of(config).compressible_share or not is_found or is_written:
        return ()
    return ("compressible_share changes nothing: what is read was there before",)


def _hole_remarks(config: Mapping[str, Value], existing: safety.Existing | None) -> tuple[str, ...]:
    """Report that parts of the data read were never written: nothing is fetched for them."""
    if existing is None or existing.allocated_bytes is None or not _reads(config):
        return ()
    share = existing.allocated_bytes / existing.size_bytes if existing.size_bytes else 1.0
    if share >= MOSTLY_THERE:
        return ()
    return (
        f"only {format_percent(share)} of {existing.path} has a place on the device: reads of the "
        "rest, never written or compressed, flatter it; write it first, or let Headroom lay out "
        "files",
    )


def _reads(config: Mapping[str, Value]) -> bool:
    return Asked.of(config).workload != "micro" or Micro.of(config).read_share > 0.0


def _files_of_postmark(config: Mapping[str, Value], folder: Path) -> str:
    """Return as text the files of PostMark: its pool, and the additions of its transactions."""
    postmark = Postmark.of(config)
    count = postmark.postmark_files
    most = format_quantity(2.0 * count * postmark.postmark_high_bytes, "B")
    return f"makes {count:,} files and more in {folder}, {most} at most at once, removed after"


def _written(config: Mapping[str, Value], size: int) -> str:
    """Return as text how much a run writes."""
    parts = []
    workload, micro, ends = Asked.of(config).workload, Micro.of(config), Requests.of(config)
    if workload == "snia_like" and (passes := Snia.of(config).snia_precondition):
        first = format_quantity(passes * size, "B")
        parts.append(f"writes {first} before its rounds")
    share = 1.0 - micro.read_share if workload == "micro" else 1.0
    bounds = []
    if ends.bytes:
        bounds.append(share * ends.bytes)
    if ends.requests and workload == "micro":
        bounds.append(share * ends.requests * micro.block_bytes)
    if bounds:
        parts.append(f"writes {format_quantity(min(bounds), 'B')} at most per run")
    else:
        of_what = "cell of each round" if workload == "snia_like" else "run"
        pace = "at its own times" if is_open(config) else "as fast as it can"
        parts.append(f"writes for {ends.seconds:g} s per {of_what}, {pace}")
    return ", and ".join(parts)
