"""Compare results that were measured before: read, match, and refuse what is not comparable.

Results of another machine, of other parameters or of the other variant of a study are refused.
Other differences, such as kernel and versions, are named: they may be the reason for a change.

Invariant: a difference that forbids a comparison is either refused or recorded in the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headroom.analysis.results import ExperimentResult, PointResult, StudyResult
from headroom.analysis.results_file import read_results
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.machine.machine_identity import Machine
from headroom.experiment.study.paths import JOURNAL_NAME, PAGE_NAME, RESULTS_NAME, results_folder
from headroom.gate.arms import NAMES
from headroom.gate.judging import judged, row_of_estimates
from headroom.gate.question import Question
from headroom.gate.result import Arm, ComparisonResult, Difference, Noise, Row
from headroom.gate.sessions import commit_in, noise_of_point
from headroom.gate.threshold import MeasureAgain, gate_of
from headroom.version import version

_FACTS = (
    ("kernel", "host", "kernel"),
    ("distribution", "host", "distribution"),
    ("Python", "software", "python"),
    ("Headroom", "software", "headroom"),
    ("commit", "repository", "commit"),
)
_MOST_METRICS = 3
_RESULT_FOLDERS = ("results", "quick")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A result that was read.

    Parameters
    ----------
    label
        As the user called it.
    path
        The file `results.json`; None if the result comes from memory or a page alone.
    result
        Its content.
    """

    label: str
    path: Path | None
    result: StudyResult

    @property
    def folder(self) -> Path | None:
        """Folder of the study whose results folder the file is in, or else the file's."""
        if self.path is None:
            return None
        folder = self.path.parent
        while folder.name in _RESULT_FOLDERS:
            folder = folder.parent
        return folder

    @property
    def facts(self) -> Mapping[str, Any]:
        """The newest environment, empty if there is none."""
        return self.result.environments[-1] if self.result.environments else {}


def read_stored(path: Path, *, label: str, quick: bool = False) -> Stored:
    """Return a result from the folder of a study, its results folder, a file, or a page.

    Raises
    ------
    StudyError
        There are no results.
    """
    places = [path]
    if path.is_dir():
        places = [results_folder(path, quick) / RESULTS_NAME, path / RESULTS_NAME]
    elif path.suffix != ".json":
        places = [path.with_name(RESULTS_NAME), results_folder(path.parent, quick) / RESULTS_NAME]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        beside = f"; a page {PAGE_NAME} needs {RESULTS_NAME} in its folder"
        raise StudyError(
            f"{path} has no results{' of its quick variant' if quick else ''}",
            cure=f"run the study first: headroom run {path}{beside if path.is_file() else ''}",
        )
    return Stored(label=label, path=found, result=read_results(found))


def compare_results(
    stored: Sequence[Stored],
    *,
    question: Question,
    again: MeasureAgain | None = None,
    why_not: str = "",
) -> ComparisonResult:
    """Compare results with the first one, point by point.

    Parameters
    ----------
    stored
        Two results or more, the base first.
    question
        Metrics to compare, the difference that does not matter, the threshold of the gate, and
        whether to compare what is not comparable, and record it.
    again, why_not
        Measures suspected rows again, or the reason why that is impossible.

    Raises
    ------
    StudyError
        The results are not comparable, or have no figure in common.
    """
    base, *others = stored
    differences = [one for other in others for one in differences_of(base, other)]
    forbidding = [one for one in differences if one.forbids]
    if forbidding and not question.force:
        first = forbidding[0]
        rest = f" (and {len(forbidding) - 1} more differences)" if len(forbidding) > 1 else ""
        raise StudyError(
            f"not comparable: {first.what} differs: {first.base} against {first.other}{rest}",
            cure="compare results of one machine, variant and set of parameters; --force compares "
            "them and records it",
        )
    rows: list[Row] = []
    places: list[_Match] = []
    left_out: list[str] = []
    missing: list[str] = []
    for name, other in zip(NAMES[1:], others, strict=False):
        for match in _matches(base.result, other.result):
            if match.base is None or match.other is None:
                owner = base if match.other is None else other
                left_out.append(f'{match.label}, only in "{owner.label}"')
                missing += [match.label] if match.other is None else []
                continue
            found = list(_rows(name, match, question.metrics))
            rows += found
            places += [match] * len(found)
    if not rows:
        raise StudyError(
            "the results have no metric and point in common", cure="compare one study's"
        )
    rows = judged(rows, same_within=question.same_within)
    gate = None
    if question.fail_on_regression is not None:
        gate = gate_of(
            rows,
            threshold=question.fail_on_regression,
            looks=0,
            again=again,
            missing=missing,
            why_not=why_not,
            named=bool(question.metrics),
        )
    noise = _noise(stored, rows, places)
    return ComparisonResult(
        kind="results",
        title=f"{base.result.title}: {others[0].label} against {base.label}",
        arms=[_arm(name, one) for name, one in zip(NAMES, stored, strict=False)],
        rows=rows,
        same_within=question.same_within,
        stopped="stored",
        noise=noise,
        gate=gate,
        differences=differences,
        forced=bool(forbidding),
        left_out=left_out,
        cautions=[
            *(f'"{one.label}" is not complete.' for one in stored if not one.result.is_complete),
            *_drift(stored, noise),
        ],
        generated=datetime.now(UTC).isoformat(timespec="seconds"),
        headroom_version=version(),
    )


def differences_of(base: Stored, other: Stored) -> list[Difference]:
    """Return the differences between two results apart from their metrics."""
    one, two = base.result, other.result
    # Imported results have the name of their folder, and the machine of nobody's choice.
    has_identity = not (_is_imported(one) and _is_imported(two))
    found = [
        _difference("study", one.name, two.name, forbids=has_identity),
        _difference("variant", _variant(one), _variant(two), forbids=True),
        *_parameters(one, two),
    ]
    if has_identity and any(experiment.column == "measure" for experiment in two.experiments):
        here, there = Machine.of(base.facts), Machine.of(other.facts)
        gap = here.difference(there)
        found.append(Difference(what="machine", base=here.cpu_model or "base", other=gap,
            forbids=True) if gap else None)  # fmt: skip
    found += [_fact(base.facts, other.facts, *place) for place in _FACTS]
    return [difference for difference in found if difference is not None]


def _noise(
    stored: Sequence[Stored], rows: Sequence[Row], places: Sequence["_Match"]
) -> list[Noise]:
    """Return the noise of the machine in each measured row of the first comparison."""
    paths = (one.path.with_name(JOURNAL_NAME) for one in stored if one.path is not None)
    path = next((path for path in paths if path.is_file()), None)
    with Journal.open(path, create=False) if path else nullcontext() as journal:
        return [
            noise_of_point(row, match.base, match.experiment, journal)
            for row, match in zip(rows, places, strict=True)
            if row.arm == NAMES[1] and match.base and match.experiment.column == "measure"
        ]


def _drift(stored: Sequence[Stored], noise: Sequence[Noise]) -> list[str]:
    """Return that a drift of the machine between measurements counts as a difference."""
    if all(one.column != "measure" for result in stored for one in result.result.experiments):
        return []
    found = [
        "The results were measured at different times: a drift of the machine looks like a "
        "difference, or hides one. Revisions of a study are measured side by side."
    ]
    if all(one.between is None for one in noise):
        found.append(
            "How far the machine drifts is unknown: no journal with two sessions of the same code "
            "lies next to the results. `headroom run STUDY --fresh` adds a session."
        )
    return found


def _is_imported(result: StudyResult) -> bool:
    return all(experiment.system == "imported" for experiment in result.experiments)


def _variant(result: StudyResult) -> str:
    return "quick" if result.is_quick else "full"


def _difference(what: str, base: str, other: str, *, forbids: bool = False) -> Difference | None:
    return None if base == other else Difference(what=what, base=base, other=other, forbids=forbids)


def _fact(
    base: Mapping[str, Any], other: Mapping[str, Any], what: str, table: str, key: str
) -> Difference | None:
    values = [str(facts.get(table, {}).get(key, "")) for facts in (base, other)]
    return _difference(what, values[0], values[1])


def _parameters(base: StudyResult, other: StudyResult) -> Iterator[Difference | None]:
    """Yield systems and parameters with different values, of experiments that both have."""
    known = {experiment.name: experiment for experiment in base.experiments}
    for experiment in other.experiments:
        old = known.get(experiment.name)
        if old is None:
            continue
        yield _difference(f"system of {old.name}", old.system, experiment.system, forbids=True)
        before = {used.name: used for used in old.parameters}
        for used in experiment.parameters:
            was = before.get(used.name)
            if was is None or "factor" in {was.origin, used.origin}:
                continue
            what = f"parameter {experiment.name}.{used.name}"
            forbids = "fitted" not in {was.origin, used.origin}
            yield _difference(what, str(was.value), str(used.value), forbids=forbids)


@dataclass(frozen=True, slots=True)
class _Match:
    """A point in both results; None if one lacks it."""

    label: str
    experiment: ExperimentResult
    has_name: bool
    base: PointResult | None
    other: PointResult | None


def _matches(base: StudyResult, other: StudyResult) -> Iterator[_Match]:
    def points(result: StudyResult) -> dict[tuple[str, str], tuple[ExperimentResult, PointResult]]:
        return {
            (experiment.name, repr(sorted(point.levels.items()))): (experiment, point)
            for experiment in result.experiments
            for point in experiment.points
        }

    old, new = points(base), points(other)
    has_name = len(base.experiments) > 1
    for key in dict.fromkeys([*old, *new]):
        experiment, point = new.get(key) or old[key]
        levels = ", ".join(f"{name}={level}" for name, level in point.levels.items())
        yield _Match(
            f"{experiment.name} {levels}".strip(),
            experiment,
            has_name,
            old[key][1] if key in old else None,
            new[key][1] if key in new else None,
        )


def _rows(name: str, match: _Match, metrics: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each metric that at least one side has."""
    base, other = match.base, match.other
    if base is None or other is None:
        raise AssertionError("a match without both sides has no rows")
    known = {**base.estimates, **other.estimates}
    wanted = list(metrics or match.experiment.responses or list(known)[:_MOST_METRICS])
    for metric in wanted:
        if metric in known:
            like = Row(
                arm=name,
                base=NAMES[0],
                experiment=match.experiment.name if match.has_name else "",
                levels=dict(other.levels),
                metric=metric,
                unit=known[metric].unit,
                better=known[metric].better,
            )
            sides = (base.estimates.get(metric), other.estimates.get(metric))
            yield row_of_estimates(*sides, like=like)


def _arm(name: str, stored: Stored) -> Arm:
    result, facts = stored.result, stored.facts
    host = facts.get("host", {}).get("name", "")
    about = {
        "study": result.name,
        "written": result.generated,
        "host": host,
        "commit": commit_in(facts),
    }
    return Arm(
        name=name,
        label=stored.label,
        about={key: value for key, value in about.items() if value},
        done=result.done,
        failed=result.failed,
        disturbances=[
            disturbance
            for experiment in result.experiments
            for point in experiment.points
            for disturbance in point.disturbances
        ],
        records=result.answers,
        titles=result.titles,
    )
