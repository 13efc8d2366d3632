"""The fit method `storage.files`: costs of operations on files from a sweep of single sizes.

The sweep runs PostMark with files of nearly one size each time. The times of its creates, reads,
appends and deletes, without stalls, are straight lines over the bytes that they move. The cost of a
sync is the extra time of synced writes. Other numbers of files and transactions, other sizes, mixes
and policies are then predictions.

Invariant: bytes of operations are those of the benchmark's own generator, not an assumed mean;
points that write with every n-th synced, n > 1, take no part.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import scipy

from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    Residual,
    SourcePoint,
    Target,
    options_as,
)
from headroom.experiment.protocol.system import Value
from headroom.systems.storage.fit.file_parameters import FILES, KINDS, SYNC
from headroom.systems.storage.fit.laws import NORMAL_P90, quantiles_of
from headroom.systems.storage.fit.observations import typical, usual_of
from headroom.systems.storage.postmark.postmark import operations
from headroom.systems.storage.workloads.workload_parameters import Postmark

Floats: TypeAlias = npt.NDArray[np.float64]
_TRANSACTIONS = 4000
"""Transactions by which the bytes of operations are found."""
_TRANSACTION_PHASE = 1
_FEWEST = 30
"""Operations of a kind below which a point is not used for it."""
_MOST_OWN = 0.5
"""Largest part of a transaction that the client's own time may be."""


class FilesOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `storage.files`."""

    sync: bool = False
    """Also fit the cost of making files durable, from points with `postmark_sync`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """Operations of one kind at one point: bytes and times (s), stalls apart."""

    point: SourcePoint
    kind: str
    bytes: Floats
    usual_s: float
    deviation: float
    stall_count: float
    stall_s: float
    all_usual_s: float

    @property
    def mean_bytes(self) -> float:
        return float(self.bytes.mean())

    @property
    def asked(self) -> Postmark:
        return Postmark.of(self.point.config)

    @property
    def is_synced(self) -> bool:
        return self.asked.postmark_sync != "never"


@dataclass(frozen=True, slots=True)
class _Line:
    """A time (s) and that of each byte (s/B)."""

    base_s: float
    per_byte: float

    def at(self, bytes_: Floats | float) -> Floats | float:
        return self.base_s + self.per_byte * bytes_

    def mean_s(self, time_: _Times) -> float:
        return float(self.at(time_.mean_bytes))


class FilesFit:
    """Fits `fitted_files` to PostMark of single sizes."""

    name: ClassVar[str] = "storage.files"
    options_type: ClassVar[type[msgspec.Struct]] = FilesOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the costs that the options request."""
        return tuple(
            parameter.name
            for parameter in (*FILES, *(SYNC if options_as(FilesOptions, options).sync else ()))
        )

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the costs that answer the sweep best.

        Raises
        ------
        FitError
            Sizes are too few, a kind of operation is missing, or nothing was synced.
        """
        wanted = options_as(FilesOptions, options)
        times = [time_ for point in points for time_ in _times_of(point)]
        plain = [time_ for time_ in times if not time_.is_synced]
        lines = {kind: _plain_line(plain, kind) for kind in KINDS}
        synced = [time_ for time_ in times if time_.is_synced]
        if wanted.sync:
            lines |= _sync_lines(synced, lines)
        values = _values(times, plain, lines)
        declared = target.parameters
        return Found(
            parameters=tuple(
                FittedParameter(name=name, value=values[name], unit=declared[name].unit)
                for name in self.parameter_names(options)
            ),
            residuals=()
            if target.is_replicate
            else tuple(_residuals(times if wanted.sync else plain, lines)),
            notes=() if target.is_replicate else tuple(_notes(values)),
        )


def _times_of(point: SourcePoint) -> Iterator[_Times]:
    """Yield a point's times of each kind of operation."""
    config = point.config
    if config.get("workload") != "postmark":
        return
    asked = Postmark.of(config)
    is_some_synced = asked.postmark_sync != "never" and asked.postmark_sync_every > 1
    if asked.postmark_threads != 1 or is_some_synced:
        return
    moved = _bytes_of(*(getattr(asked, name) for name in _ASKED))
    for kind in KINDS:
        name = f"class.{kind}.response_s"
        if name not in point.distributions or not moved[kind].size:
            continue
        bins = typical(point, name)
        if bins.counts.sum() < _FEWEST:
            continue
        usual = usual_of(bins)
        quantiles = quantiles_of(usual)
        count, all_usual_s = float(usual.counts.sum()), usual.mean * float(usual.counts.sum())
        stalls = float(bins.counts.sum()) - count
        yield _Times(
            point=point,
            kind=kind,
            bytes=moved[kind],
            usual_s=usual.mean,
            deviation=math.log(quantiles.p90 / quantiles.p10) / (2.0 * NORMAL_P90),
            stall_count=stalls,
            stall_s=bins.mean * float(bins.counts.sum()) - all_usual_s - stalls * usual.mean,
            all_usual_s=all_usual_s + stalls * usual.mean,
        )


_ASKED = (
    "postmark_files",
    "postmark_low_bytes",
    "postmark_high_bytes",
    "postmark_bias_read",
    "postmark_bias_create",
)


@lru_cache(maxsize=64)
def _bytes_of(
    files: int, low: int, high: int, bias_read: float, bias_create: float
) -> Mapping[str, Floats]:
    """Return the bytes of the operations of transactions, for each kind."""
    job = {
        "seed": 1,
        "target": {"kind": "nothing"},
        "workload": {
            "files": files,
            "transactions": _TRANSACTIONS,
            "size_low_bytes": low,
            "size_high_bytes": high,
            "read_bias": bias_read,
            "create_bias": bias_create,
        },
    }
    walk = operations(job, count=files + 2 * _TRANSACTIONS)
    is_mixed = walk["phase"] == _TRANSACTION_PHASE
    return {
        kind: walk["bytes"][is_mixed & (walk["kind"] == number)].astype(float)
        for number, kind in enumerate(KINDS)
    }


def _plain_line(plain: Sequence[_Times], kind: str) -> _Line:
    own = [time_ for time_ in plain if time_.kind == kind]
    sizes = {time_.asked.postmark_high_bytes for time_ in own}
    if len(sizes) < 2:  # noqa: PLR2004 - a line has two ends
        raise FitError(
            f"the sweep has {len(sizes)} sizes of files with enough {kind}s; a byte's time needs "
            "2 or more",
            cure="add points with workload = postmark, postmark_sync = never and other "
            "postmark_low_bytes and postmark_high_bytes, zipped",
        )
    return _line([(time_.mean_bytes, time_.usual_s) for time_ in own])


def _sync_lines(synced: Sequence[_Times], lines: Mapping[str, _Line]) -> dict[str, _Line]:
    """Return the extra time of synced writes, and of deletes of synced files."""
    by_kind = {kind: [time_ for time_ in synced if time_.kind == kind] for kind in KINDS}
    sizes = [
        len({time_.asked.postmark_high_bytes for time_ in by_kind[kind]})
        for kind in ("create", "append", "delete")
    ]
    if min(sizes) < 2:  # noqa: PLR2004 - a line has two ends
        raise FitError(
            "the sweep has less than two sizes of files that are made durable",
            cure="add points with postmark_sync = fdatasync and postmark_sync_every = 1, or set "
            "options.sync = false",
        )

    def longer(times: Sequence[_Times]) -> _Line:
        return _line(
            [
                (time_.mean_bytes, max(time_.usual_s - lines[time_.kind].mean_s(time_), 1e-9))
                for time_ in times
            ]
        )

    return {
        "create_sync": longer(by_kind["create"]),
        "append_sync": longer(by_kind["append"]),
        "durable_delete": longer(by_kind["delete"]),
    }


def _line(seen: Sequence[tuple[float, float]]) -> _Line:
    """Return the line through times (s) over bytes, both of its numbers 0 or more.

    Errors are relative: a large file does not outweigh the small ones.
    """
    bytes_, times_s = (np.array(column) for column in zip(*seen, strict=True))
    scale = max(float(bytes_.max()), 1.0)
    matrix = np.stack([1.0 / times_s, bytes_ / scale / times_s], axis=1)
    (base_s, per_scale), _ = scipy.optimize.nnls(matrix, np.ones(len(times_s)))
    return _Line(float(base_s), float(per_scale) / scale)


def _values(
    times: Sequence[_Times], plain: Sequence[_Times], lines: Mapping[str, _Line]
) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, line in lines.items():
        values |= {f"{name}_s": line.base_s, f"{name}_s_per_byte": line.per_byte}
    for kind in KINDS:
        own = [time_ for time_ in plain if time_.kind == kind]
        values[f"{kind}_cv"] = _variation(own, lines[kind])
    values["sync_cv"] = 0.0
    if "append_sync" in lines:
        # An append is short compared with its sync: the scatter is that of the sync.
        appends = [time_ for time_ in times if time_.is_synced and time_.kind == "append"]
        values["sync_cv"] = _variation(appends, lines["append_sync"])
    stall_count = sum(time_.stall_count for time_ in plain)
    values["stalls_per_s"] = stall_count / sum(time_.all_usual_s for time_ in plain)
    held_s = sum(time_.stall_s for time_ in plain)
    values["stall_s"] = held_s / stall_count if stall_count else 0.0
    values["between_s"] = _own_s(plain)
    return values


def _variation(times: Sequence[_Times], line: _Line) -> float:
    """Return the coefficient of variation that is not that of the bytes."""
    variances = []
    for time_ in times:
        expected = np.asarray(line.at(time_.bytes))
        low, high = (float(np.quantile(expected, share)) for share in (0.1, 0.9))
        by_bytes = math.log(high / low) / (2.0 * NORMAL_P90) if low > 0.0 else 0.0
        variances.append(max(time_.deviation**2 - by_bytes**2, 0.0))
    return math.sqrt(math.expm1(min(float(np.median(variances)), 4.0))) if variances else 0.0


def _own_s(plain: Sequence[_Times]) -> float:
    """Return the time (s) of the client between two transactions."""
    all_own_s = []
    for observed in {id(time_.point): time_.point.observed for time_ in plain}.values():
        if {"transactions_per_s", "response_s_mean"} <= set(observed):
            whole_s = 1.0 / observed["transactions_per_s"].value
            own_s = whole_s - observed["response_s_mean"].value
            all_own_s.append(min(max(own_s, 0.0), _MOST_OWN * whole_s))
    return float(np.median(all_own_s)) if all_own_s else 0.0


def _residuals(times: Sequence[_Times], lines: Mapping[str, _Line]) -> Iterator[Residual]:
    for time_ in times:
        name = f"class.{time_.kind}.response_s_mean"
        fitted_s = lines[time_.kind].mean_s(time_)
        if time_.is_synced and time_.kind in {"create", "append"}:
            fitted_s += lines[f"{time_.kind}_sync"].mean_s(time_)
        if time_.is_synced and time_.kind == "delete":
            fitted_s += lines["durable_delete"].mean_s(time_)
        yield Residual(
            experiment=time_.point.experiment,
            levels=dict(time_.point.levels),
            metric=f"{name}, without stalls",
            unit="s",
            observed=time_.usual_s,
            fitted=fitted_s,
        )


def _notes(values: Mapping[str, Value]) -> Iterator[str]:
    held = float(values["stalls_per_s"]) * float(values["stall_s"])
    if held > 0.0:
        yield f"operations were held up for {held / (1.0 + held):.1%} of the time"
