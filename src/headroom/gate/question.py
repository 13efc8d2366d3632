"""The question of a comparison: what is compared, how long it is measured, and what counts."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from headroom.errors import StudyError
from headroom.experiment.protocol.options import QUICK, Options, option
from headroom.gate.threshold import first_looks


def share_of(text: str, option: str) -> float:
    """Return a share such as ``3%`` or ``0.03``.

    Examples
    --------
    >>> share_of("3%", "--until"), share_of("0.005", "--until")
    (0.03, 0.005)
    """
    is_percent = text.strip().endswith("%")
    try:
        share = float(text.strip().removesuffix("%")) / (100.0 if is_percent else 1.0)
    except ValueError:
        share = -1.0
    if not 0.0 < share < 1.0:
        raise StudyError(f"`{option} {text}` is not a share", cure=f"write {option} 3%")
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Options):
    """What to find out about commands, results or revisions.

    The fields with a note are options of `headroom compare`; Python has those that results need.
    """

    build: Sequence[str] = option(
        "--build",
        "Run this once in the checkout of each revision; repeatable.",
        metavar="COMMAND",
        default=(),
    )
    names: Sequence[str] = option(
        "--name", "Name of each subject in the output, in order; repeatable.", default=()
    )
    metrics: Sequence[str] = option(
        "--metric",
        "Metric to compare; repeatable [commands: wall_s, processor_time_s, "
        "peak_memory_bytes; studies: the responses].",
        default=(),
    )
    until: float | None = option(
        "--until",
        "Measure until the 95% interval of each ratio is this narrow: 1% is ±1%, or a "
        "tenth of the difference if that is more [1%].",
        metavar="SHARE",
        read=share_of,
    )
    runs: int | None = option(
        "--runs",
        "A fixed number of blocks instead [a gate: 25, more while noise hides the share].",
        low=2,
    )
    max_runs: int = option("--max-runs", "Maximum number of blocks.", low=2, default=100)
    max_time_s: float | None = option(
        "--max-time",
        "Start no run after this time [no new round after 300 s].",
        metavar="SECONDS",
        low=0.0,
    )
    patience_s: float = 300.0
    """Without `max_time_s`: time after which no further round begins."""
    warm_up: int = option(
        "--warmup", "-w", "Unrecorded runs before each measured run.", low=0, default=0
    )
    prepare: Sequence[str] = option(
        "--prepare",
        "-p",
        "Run this before each run, unmeasured: once for all, or one for each command.",
        metavar="COMMAND",
        default=(),
    )
    time_limit_s: float = option(
        "--time-limit", "Limit (s) of a single run.", low=0.001, default=600.0
    )
    ignore_failure: bool = option(
        "--ignore-failure", "-i", "Accept every exit code.", default=False
    )
    same_within: float = option(
        "--same-within",
        "Difference that does not matter.",
        metavar="SHARE",
        read=share_of,
        written="2%",
        default=0.02,
    )
    fail_on_regression: float | None = option(
        "--fail-on-regression",
        "Exit 3 if anything is surely worse and possibly by this much: suspicions are "
        "measured again first. Missing results are an error (exit 1). Exit 4 if it could not have "
        "been seen.",
        metavar="SHARE",
        read=share_of,
    )
    measure_again: bool = True
    """Whether a gate on results may measure its suspicions again."""
    force: bool = option(
        "--force", "Compare results that are not comparable, and say so.", default=False
    )
    quick: bool = option(like=QUICK, default=False)
    processes: int | None = option("--jobs", "-j", "Simulations in parallel.", low=1)

    def __post_init__(self) -> None:
        """Refuse a gate that cannot be one."""
        Options.__post_init__(self)
        if self.fail_on_regression is None:
            return
        if self.fail_on_regression <= 0.0:
            raise StudyError(
                f"a regression of {self.fail_on_regression:.3g} is none",
                cure="give a share above 0, e.g. --fail-on-regression 3%",
            )
        if self.until is not None:
            raise StudyError(
                "`--until` and `--fail-on-regression` exclude each other: the error rates of a "
                "gate hold for a fixed number of runs",
                cure="use --runs",
            )

    @property
    def jobs(self) -> int:
        """Processes: as wanted, or one for each processor."""
        return self.processes or os.cpu_count() or 1

    @property
    def half_width(self) -> float:
        """Half-width (relative) of an interval that is sure."""
        return 0.01 if self.until is None else self.until

    @property
    def looks(self) -> list[int]:
        """Blocks after which a gate looks."""
        return [self.runs] if self.runs else first_looks(self.max_runs)

    def label(self, metric: str) -> str:
        """Return how a note calls a metric: by its name, unless a front knows better."""
        return metric
