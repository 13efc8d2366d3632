"""The parameters of the modelled PostMark: the benchmark of Kang and Cheong, and its history.

Invariant: a parameter of the benchmark is that of the measured column, with the paper's value.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, TypeAlias

from headroom.experiment.protocol.declared import Declared, declared_by
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.system import Parameter, Value
from headroom.systems.storage.devices.models.numbers import KIB
from headroom.systems.storage.workloads.workload_parameters import Postmark

_USED = (
    "postmark_files",
    "postmark_transactions",
    "postmark_low_bytes",
    "postmark_high_bytes",
    "postmark_read_block_bytes",
    "postmark_write_block_bytes",
    "postmark_bias_read",
    "postmark_bias_create",
)
_PAPER = "paper by Kang and Cheong, section 3.3"
_SET: Mapping[str, tuple[Value, str]] = {
    "postmark_files": (20_000, "assumed: the paper does not say; PostMark's 500 would never leave "
                       "the client's cache"),
    "postmark_transactions": (100_000, f"{_PAPER}: 100,000 transactions"),
    "postmark_read_block_bytes": (KIB, f"{_PAPER}: blocks of 1 KB"),
    "postmark_write_block_bytes": (KIB, f"{_PAPER}: blocks of 1 KB"),
    "postmark_bias_read": (3.5, f"{_PAPER}: reads to writes about 3.5 to 6.5"),
}  # fmt: skip
"""The paper's differences from PostMark itself, and where it states them."""
_RUNS_SOURCE = {
    0: "derived: the digits of the paper's table 1 are those of 20 runs; none is said to be cut",
    4: "derived: the digits of the paper's table 1 are those of 16 runs, 20 less 4 of warming up, "
    "which section 3.3 asks to cut",
}
_LEFT = (
    "assumed: runs followed each other after pauses of unknown length. The model leaves the write "
    "cache about as full as its high mark, whatever it found, and an array without load empties "
    "it; so a run finds it anywhere between that and empty"
)
_Runs: TypeAlias = Annotated[int, parameter(low=0, high=1_000, source="assumed")]


class History(Declared, frozen=True, kw_only=True):
    """How many runs came before, each number equally likely, and what they left."""

    earlier_runs_low: _Runs
    """Fewest earlier runs on the file system since it was made"""
    earlier_runs_high: _Runs
    """Most earlier runs on the file system since it was made"""
    earlier_load_share: Annotated[float, parameter(low=0.0, high=1.0, source=_LEFT)] = 1.0
    """Largest share of the high mark that an earlier run leaves dirty in an array; drawn uniformly
    from 0"""


def earlier_runs(low: int, high: int) -> tuple[Parameter, ...]:
    """Return the parameters of the history, of which so many runs came before.

    Examples
    --------
    >>> [one.default for one in earlier_runs(0, 19)]
    [0, 19, 1.0]
    """
    fewest, most, share = declared_by(History)
    source = _RUNS_SOURCE.get(low, "assumed")
    return (
        replace(fewest, default=low, source=source),
        replace(most, default=high, source=source),
        share,
    )


def benchmark_parameters() -> tuple[Parameter, ...]:
    """Return the parameters of the benchmark, with the values of Kang and Cheong.

    Examples
    --------
    >>> {one.name: one.default for one in benchmark_parameters()}["postmark_bias_read"]
    3.5
    """
    return tuple(
        replace(one, default=new[0], source=new[1]) if (new := _SET.get(one.name)) else one
        for one in declared_by(Postmark)
        if one.name in _USED
    )
