"""Studies of models with groups: declarations, the verdict, and the effect of doubling."""

from pathlib import Path

import pytest

from headroom.analysis.analyse import analyse
from headroom.analysis.evidence import Limiting
from headroom.analysis.follow_up.what_if import planned_what_ifs
from headroom.analysis.results import PointResult
from headroom.experiment.journal.journal import Journal
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.simulation import Model
from headroom.systems.model.metrics import metrics_of
from tests.support.example_session import run_study
from tests.support.study_text import Head

MODEL = """
from headroom.simulation import Model, exponential


def build(first: float = 0.25, classes: int = 1, users: int = 40) -> Model:
    model = Model("cluster", time_unit="ms")
    nodes = []
    for node in range(4):
        with model.inside(f"node {node}"):
            nodes.append((model.pool("slots", tokens=users, group="slots"),
                          model.station("cpu", group="cpu")))
    disk = model.station("disk")
    for number in range(classes):
        program = model.program(f"request {number}")
        with program.branch() as chosen:
            for node, (slots, cpu) in enumerate(nodes):
                share = first if node == 0 else (1 - first) / 3
                with chosen.case(share), program.holding(slots):
                    program.use(cpu, exponential(4))
        program.use(disk, exponential(0.5))
        model.closed_class(f"users {number}", program, population=users // classes,
                           think=exponential(5))
    return model
"""
STUDY = Head("groups", "A cluster", "load", seed=3).then("""\
system = { name = "model", file = "model.py", function = "point", completions = 20_000 }
replications = { count = 3 }
what_if = { replications = 3 }
""")


def built(**parameters: float) -> Model:
    scope: dict[str, object] = {}
    exec(MODEL, scope)  # noqa: S102 - the model above
    model = scope["build"](**parameters)  # type: ignore[operator]
    assert isinstance(model, Model)
    return model


def analysed(folder: Path, arguments: str, *, doubled: bool = True) -> PointResult:
    point = f"def point() -> Model:\n    return build({arguments})\n"
    (folder / "model.py").write_text(f"{MODEL}\n\n{point}")
    (folder / "study.toml").write_text(STUDY)
    plan = make_plan(load_study(folder), quick=False)
    with Journal.open(folder / "journal.sqlite", create=True) as journal:
        run_study(plan, journal)
        if doubled:
            run_study(planned_what_ifs(plan, journal), journal)
        result = analyse(plan, journal, environments=journal.environments(), command="")
    return result.experiments[0].points[0]


@pytest.mark.parametrize("classes", [1, 2])
def test_what_is_declared_of_groups_is_what_is_analysed(tmp_path: Path, classes: int) -> None:
    estimates = set(analysed(tmp_path, f"classes={classes}", doubled=False).estimates)
    declared = {metric.name for metric in metrics_of(built(classes=classes))}
    kinds = ("station.", "pool.")
    assert {n for n in estimates if n.startswith(kinds)} == {
        n for n in declared if n.startswith(kinds)
    }
    assert "station.cpu.utilization_max" in estimates
    assert "station.disk.utilization_max" not in estimates
    assert not [name for name in estimates if "node" in name]


def gain(point: PointResult, change: str) -> float:
    (effects,) = [what_if.effects for what_if in point.what_ifs if what_if.change == change]
    return next(effect.ratio for effect in effects if effect.metric == "throughput")


def test_four_equal_servers_that_are_full_limit_as_one_and_doubling_them_helps(
    tmp_path: Path,
) -> None:
    point = analysed(tmp_path, "users=80")
    assert point.bottleneck is not None
    assert (point.bottleneck.kind, point.bottleneck.name) == ("station", "cpu")
    assert isinstance(point.bottleneck.evidence, Limiting)
    assert point.bottleneck.evidence.why == "busy"
    assert 0.9 <= point.bottleneck.evidence.cause.utilization < 1.0
    assert gain(point, "station.cpu.servers=x2") > 1.5


def test_one_full_member_of_a_group_that_has_time_left_on_average_is_told(tmp_path: Path) -> None:
    """Oracle: 70% of all go to one of four: it is full, together they are busy 0.25 / 0.7."""
    point = analysed(tmp_path, "first=0.7, users=40")
    estimates, verdict = point.estimates, point.bottleneck
    assert estimates["station.cpu.utilization"].value == pytest.approx(0.25 / 0.7, rel=0.02)
    assert estimates["station.cpu.utilization_max"].value > 0.97
    assert verdict is not None
    assert (verdict.limits, verdict.name) == (True, "cpu")
    assert isinstance(verdict.evidence, Limiting)
    cause = verdict.evidence.cause
    assert verdict.evidence.why == "uneven"
    assert cause.busiest == pytest.approx(1.0, abs=0.0005)
    assert cause.utilization == pytest.approx(0.25 / 0.7, rel=0.02)
    assert gain(point, "station.cpu.servers=x2") > 1.5


def test_a_group_with_time_left_everywhere_limits_nothing(tmp_path: Path) -> None:
    point = analysed(tmp_path, "users=8", doubled=False)
    assert point.bottleneck is not None
    assert not point.bottleneck.limits
