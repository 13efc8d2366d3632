"""The parameters of the modelled PostMark: the benchmark of Kang and Cheong, and its history.

Invariant: a parameter of the benchmark is that of the measured column, with the paper's value.
"""

from collections.abc import Mapping
from dataclasses import replace

from headroom.experiment.protocol.declared import declared_by
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
EARLIER = Parameter(
    name="earlier_load_share",
    type="float",
    unit="1",
    default=1.0,
    low=0.0,
    high=1.0,
    source="assumed: runs followed each other after pauses of unknown length. The model leaves the "
    "write cache about as full as its high mark, whatever it found, and an array without load "
    "empties it; so a run finds it anywhere between that and empty",
    description="Largest share of the high mark that an earlier run leaves dirty in an array; "
    "drawn uniformly from 0",
)

_RUNS = "earlier runs on the file system since it was made"
_RUNS_SOURCE = {
    0: "derived: the digits of the paper's table 1 are those of 20 runs; none is said to be cut",
    4: "derived: the digits of the paper's table 1 are those of 16 runs, 20 less 4 of warming up, "
    "which section 3.3 asks to cut",
}
_MOST_RUNS = 1_000


def earlier_runs(low: int, high: int) -> tuple[Parameter, Parameter]:
    """Return the parameters that say how many runs came before; each number is equally likely.

    Examples
    --------
    >>> [one.default for one in earlier_runs(0, 19)]
    [0, 19]
    """
    source = _RUNS_SOURCE.get(low, "assumed")
    return tuple(  # type: ignore[return-value]  # two of them
        Parameter(name=f"earlier_runs_{word}", type="int", unit="1", default=count, low=0,
                  high=_MOST_RUNS, source=source, description=f"{most} {_RUNS}")
        for word, most, count in (("low", "Fewest", low), ("high", "Most", high))
    )  # fmt: skip


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
