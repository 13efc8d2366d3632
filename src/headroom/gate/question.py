"""The question of a comparison: what is compared, how long it is measured, and what counts."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from headroom.errors import StudyError
from headroom.experiment.protocol.options import QUICK, Option, Options
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

    build: Annotated[
        Sequence[str],
        Option(
            "--build",
            metavar="COMMAND",
            text="Run this once in the checkout of each revision; repeatable.",
        ),
    ] = ()
    names: Annotated[
        Sequence[str],
        Option("--name", text="Name of each subject in the output, in order; repeatable."),
    ] = ()
    metrics: Annotated[
        Sequence[str],
        Option(
            "--metric",
            text="Metric to compare; repeatable [commands: wall_s, processor_time_s, "
            "peak_memory_bytes; studies: the responses].",
        ),
    ] = ()
    until: Annotated[
        float | None,
        Option(
            "--until",
            metavar="SHARE",
            read=share_of,
            text="Measure until the 95% interval of each ratio is this narrow: 1% is ±1%, or a "
            "tenth of the difference if that is more [1%].",
        ),
    ] = None
    runs: Annotated[
        int | None,
        Option(
            "--runs",
            low=2,
            text="A fixed number of blocks instead [a gate: 25, more while noise hides the share].",
        ),
    ] = None
    max_runs: Annotated[int, Option("--max-runs", low=2, text="Maximum number of blocks.")] = 100
    max_time_s: Annotated[
        float | None,
        Option(
            "--max-time",
            metavar="SECONDS",
            low=0.0,
            text="Start no run after this time [no new round after 300 s].",
        ),
    ] = None
    patience_s: float = 300.0
    """Without `max_time_s`: time after which no further round begins."""
    warm_up: Annotated[
        int, Option("--warmup", "-w", low=0, text="Unrecorded runs before each measured run.")
    ] = 0
    prepare: Annotated[
        Sequence[str],
        Option(
            "--prepare",
            "-p",
            metavar="COMMAND",
            text="Run this before each run, unmeasured: once for all, or one for each command.",
        ),
    ] = ()
    time_limit_s: Annotated[
        float, Option("--time-limit", low=0.001, text="Limit (s) of a single run.")
    ] = 600.0
    ignore_failure: Annotated[
        bool, Option("--ignore-failure", "-i", text="Accept every exit code.")
    ] = False
    same_within: Annotated[
        float,
        Option(
            "--same-within",
            metavar="SHARE",
            read=share_of,
            written="2%",
            text="Difference that does not matter.",
        ),
    ] = 0.02
    fail_on_regression: Annotated[
        float | None,
        Option(
            "--fail-on-regression",
            metavar="SHARE",
            read=share_of,
            text="Exit 3 if anything is surely worse and possibly by this much: suspicions are "
            "measured again first. Missing results are an error (exit 1).",
        ),
    ] = None
    measure_again: bool = True
    """Whether a gate on results may measure its suspicions again."""
    force: Annotated[
        bool, Option("--force", text="Compare results that are not comparable, and say so.")
    ] = False
    quick: Annotated[bool, QUICK] = False
    processes: Annotated[
        int | None, Option("--jobs", "-j", low=1, text="Simulations in parallel.")
    ] = None

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
