"""`headroom model series`: one run of a model over time, as CSV."""

import csv
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from math import isnan
from pathlib import Path
from typing import Annotated, TextIO

import typer

from headroom.analysis.run.time_series import PartSeries, part_series
from headroom.errors import StudyError
from headroom.experiment.protocol.run import TimeSamples
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Modelled
from headroom.output_file import csv_cell, output_file
from headroom.sessions.subjects import find_subject, parse_settings, with_config


def series(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A registered model, or a model file.py (or file.py:function)."
        ),
    ],
    *,
    every: Annotated[
        float, typer.Option(help="Simulated time (s) between two rows.", show_default=False)
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Value of a parameter; repeatable."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Metrics to write, e.g. 'station.*.utilization'; repeatable [all].",
        ),
    ] = None,
    completions: Annotated[
        int | None,
        typer.Option(min=1, help="Completions after which the run ends [as the model says]."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the run.")] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of stdout.")
    ] = None,
) -> None:
    """Run a model once and write how it goes over time: one row per interval, as CSV.

    The first column is the end of the interval (s); the others are metrics over the interval, in
    base units. At most 4095 rows: where there would be more, a row spans several intervals.
    """
    if not 0.0 < every < float("inf"):
        raise StudyError(f"--every is {every:g}", cure="give a simulated time (s) above 0")
    samples = _sampled(model, settings or [], completions, seed=seed, every_s=every)
    found = _chosen(list(part_series(samples)), only or [])
    if output is None:
        _write(samples, found, sys.stdout)
        return
    with output_file(output) as stream:
        _write(samples, found, stream)
    typer.echo(f"{output}: {samples.times_s.size:,} rows, {len(found):,} metrics")


def _sampled(
    model: str, settings: Sequence[str], completions: int | None, *, seed: int, every_s: float
) -> TimeSamples:
    subject = find_subject(model, "", completions, ())[0]
    given = parse_settings(settings, subject.system.parameters())
    subject = with_config(subject, given, ())
    if not isinstance(subject.system, Modelled):
        raise StudyError(f"the system of {model!r} has no series", cure="name a model")
    run = subject.system.run_model(subject.config, seed=seed, every_s=every_s)
    if run.samples is None or not run.samples.times_s.size:
        raise StudyError(
            f"the run ends before the end of the first interval of {every_s:g} s",
            cure="give a smaller --every, or make the run longer: --completions",
        )
    return run.samples


def _chosen(series: Sequence[PartSeries], patterns: Sequence[str]) -> list[PartSeries]:
    for pattern in patterns:
        if not any(fnmatchcase(one.full_name, pattern) for one in series):
            raise StudyError(
                f"--only {pattern!r} matches no series of the model",
                cure=suggestion(pattern, [one.full_name for one in series]),
            )
    return [
        one
        for one in series
        if not patterns or any(fnmatchcase(one.full_name, pattern) for pattern in patterns)
    ]


def _write(samples: TimeSamples, found: Iterable[PartSeries], stream: TextIO) -> None:
    shown = list(found)
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["time_s", *(csv_cell(one.full_name) for one in shown)])
    columns = [one.values.tolist() for one in shown]
    for time_s, *values in zip(samples.times_s.tolist(), *columns, strict=True):
        writer.writerow([f"{time_s:.12g}", *(_text(value) for value in values)])


def _text(value: float) -> str:
    """Return a number to six digits; nothing where an interval has none."""
    return "" if isnan(value) else f"{value:.6g}"
