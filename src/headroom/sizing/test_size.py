"""The whole search on real models: against formulas, interrupted and resumed, without an answer."""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from scipy.optimize import brentq

from benches.known.formulas import erlang_b, mmc_response_tail, mmc_wait, repairman_throughput
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol import registry
from headroom.experiment.protocol.system import Value
from headroom.experiment.runner.progress import Progress
from headroom.forecasts import Forecast
from headroom.sizing.beyond import answered
from headroom.sizing.conclusion import Question
from headroom.sizing.evaluate import Evaluator, Subject
from headroom.sizing.result import SizingResult
from headroom.sizing.size import Sizing, check_axes, excluded_by
from headroom.sizing.space import Axis, Space, parse_axis
from headroom.sizing.targets import Target, parse_target
from headroom.sizing.verdicts import Rule

OPEN_QUEUE = """
from typing import Annotated

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


def build(
    *,
    rate: Annotated[float, parameter(unit="1/s", source="assumed")] = 8.0,
    servers: Annotated[int, parameter(unit="1", low=1, source="assumed")] = 1,
) -> Model:
    model = Model("queue", time_unit="s")
    request = model.program("request")
    request.use(model.station("server", servers=servers), exponential(1.0))
    model.open_class("requests", request, interarrival=exponential(1.0 / rate))
    return model
"""
THRASHING = '''
from typing import Annotated

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


def build(*, threads: Annotated[int, parameter(unit="1", low=1, source="assumed")] = 1) -> Model:
    """More threads serve more at a time, and each one slows all others down."""
    model = Model("threads", time_unit="s")
    request = model.program("request")
    request.use(model.station("server", servers=threads), exponential(1.0 + 0.15 * threads**2))
    model.closed_class("users", request, population=12, think=exponential(1.0))
    return model
'''


def subject_of(setup: Mapping[str, Value], base: Path, **config: Value) -> Subject:
    kind = registry.find_system("model")
    typed = msgspec.convert(dict(setup), kind.setup_type)
    system = kind.load(typed, base=base)
    defaults = {
        parameter.name: parameter.default
        for parameter in system.parameters()
        if parameter.default is not None
    }
    return Subject(
        name="test", system=system, setup=typed, base=base, config={**defaults, **config}
    )


def size(
    subject: Subject,
    over: Sequence[str],
    targets: Sequence[str],
    *,
    folder: Path,
    weights: Mapping[str, float] | None = None,
    seed: int = 1,
    most: int = 100,
    maximum: int = 60,
) -> SizingResult:
    axes = tuple(map(parse_axis, over))
    kept = {n: v for n, v in subject.config.items() if n not in {axis.name for axis in axes}}
    subject = Subject(
        name=subject.name,
        system=subject.system,
        setup=subject.setup,
        base=subject.base,
        config=kept,
    )
    check_axes(axes, subject, subject.system.parameters())
    space = Space(axes, weights or {axis.name: 1.0 for axis in axes})
    levels = {n: v for n, v in space.levels(space.top).items() if "." not in n}
    metrics = subject.system.metrics({**kept, **levels})
    parsed = tuple(parse_target(text, metrics) for text in targets)
    rule = Rule(targets=parsed, error=0.01, minimum=5, maximum=maximum)
    with Journal.open(folder / "journal.sqlite", create=True) as journal:
        evaluator = Evaluator(
            subject,
            rule,
            journal,
            seed=seed,
            jobs=2,
            new_progress=lambda: Progress(Console(file=io.StringIO())),
        )
        sizing = Sizing(subject, space, parsed, evaluator, most=most)
        question = Question(
            subject="test", fixed=kept, targets=parsed, seed=seed, error=0.01, command="headroom"
        )
        return answered(question, subject, sizing, evaluator, most=most)


def p95_s(servers: int, load: float) -> float:
    """Return the 95th percentile of the response time of M/M/c with service rate 1."""
    return float(brentq(lambda t: mmc_response_tail(servers, load, t) - 0.05, 0.1, 1000.0))


@pytest.fixture
def queue(tmp_path: Path) -> Subject:
    (tmp_path / "model.py").write_text(OPEN_QUEUE)
    return subject_of({"file": "model.py", "completions": 20_000}, tmp_path)


@pytest.mark.parametrize("limit_s", [1.1, 1.5])
def test_the_fewest_servers_for_a_mean_response_are_those_of_erlang(
    queue: Subject, tmp_path: Path, limit_s: float
) -> None:
    """Oracle: M/M/c with 8 Erlang of load; the smallest c with R below the limit."""
    expected = next(c for c in range(9, 40) if 1.0 + mmc_wait(c, 8.0) <= limit_s)
    sizing = size(queue, ["servers=1..40"], [f"response_s_mean<={limit_s}s"], folder=tmp_path)
    assert sizing.best is not None
    assert sizing.best.levels == {"servers": expected}
    assert sizing.not_tried == 0
    assert sizing.is_monotone


def test_the_fewest_servers_for_a_percentile_are_those_of_the_exact_distribution(
    queue: Subject, tmp_path: Path
) -> None:
    """Oracle: the response time of M/M/c; a limit half-way between two sizes, clear of both."""
    limit_s = (p95_s(10, 8.0) + p95_s(11, 8.0)) / 2.0
    sizing = size(queue, ["servers=1..40"], [f"response_s_p95<={limit_s:.6f}s"], folder=tmp_path)
    assert sizing.best is not None
    assert sizing.best.levels == {"servers": 11}


LOSS_SYSTEM = """
from typing import Annotated

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


def build(*, lines: Annotated[int, parameter(unit="1", low=1, source="assumed")] = 1) -> Model:
    model = Model("lines", time_unit="s")
    call = model.program("call")
    station = model.station("lines", servers=lines, when_full="reject", buffer=0)
    call.use(station, exponential(1.0))
    model.open_class("calls", call, interarrival=exponential(1 / 20))
    return model
"""


@pytest.mark.deep
def test_a_metric_that_no_formula_gives_is_bisected(tmp_path: Path) -> None:
    """Cause: a target without a forecast was expected to be met everywhere, one size after another.

    Oracle: Erlang's loss formula, 20 erlangs and at most 4% lost.
    """
    (tmp_path / "model.py").write_text(LOSS_SYSTEM)
    subject = subject_of({"file": "model.py", "completions": 20_000}, tmp_path)
    sizing = size(
        subject, ["lines=1..64"], ["class.calls.lost_ratio<=0.04"], folder=tmp_path / "results"
    )
    assert sizing.best is not None
    lines = next(count for count in range(1, 65) if erlang_b(count, 20.0) <= 0.04)
    assert sizing.best.levels == {"lines": lines}
    assert len([step for step in sizing.trail if step.how == "simulation"]) <= 8
    assert all("expected" not in step.why for step in sizing.trail)


def test_sizes_without_a_steady_state_are_excluded_and_never_simulated(
    queue: Subject, tmp_path: Path
) -> None:
    sizing = size(queue, ["servers=4..9"], ["response_s_mean<=2.5s"], folder=tmp_path)
    overloaded = [step for step in sizing.trail if step.how == "overload"]
    assert overloaded
    assert all(int(str(one.levels["servers"])) <= 8 and not one.replications for one in overloaded)
    assert sizing.best is not None
    assert sizing.best.levels == {"servers": 9}


def test_the_fewest_servers_of_an_interactive_system_are_those_of_the_exact_solution(
    tmp_path: Path,
) -> None:
    """Oracle: machine repairman, as a change of the station of a registered model."""
    users, target = 40, 3.5
    expected = next(c for c in range(1, 20) if repairman_throughput(c, users, 10.0) >= target)
    subject = subject_of(
        {"model": "interactive", "completions": 20_000},
        tmp_path,
        users=users,
        think_s=10.0,
        service_s=1.0,
    )
    sizing = size(
        subject, ["station.server.servers=1..16"], [f"throughput>={target}/s"], folder=tmp_path
    )
    assert sizing.best is not None
    assert sizing.best.levels == {"station.server.servers": expected}


def test_two_factors_and_their_costs_decide_together(tmp_path: Path) -> None:
    """Oracle: 30 jobs/s need 0.6 processors and 3 disks at full load; dear processors are saved."""
    subject = subject_of({"model": "central_server", "completions": 5_000}, tmp_path, jobs=64)
    sizing = size(
        subject,
        ["cpus=1..4", "disks=1..8"],
        ["throughput>=30/s"],
        folder=tmp_path,
        weights={"cpus": 5.0, "disks": 1.0},
    )
    assert sizing.best is not None
    assert sizing.best.levels == {"cpus": 1, "disks": 4}
    assert sizing.best.cost == 9.0
    fewer = [step for step in sizing.trail if step.levels == {"cpus": 1, "disks": 3}]
    assert fewer[-1].how == "simulation", "the neighbour below is simulated, formula or not"
    assert fewer[-1].verdict == "fails"


@pytest.mark.deep
def test_a_search_gives_the_same_answer_twice_and_reuses_every_replication(
    queue: Subject, tmp_path: Path
) -> None:
    first = size(queue, ["servers=1..40"], ["response_s_p95<=3.3s"], folder=tmp_path)
    with Journal.open(tmp_path / "journal.sqlite", create=False) as journal:
        rows = journal.row_count()
    again = size(queue, ["servers=1..40"], ["response_s_p95<=3.3s"], folder=tmp_path)
    with Journal.open(tmp_path / "journal.sqlite", create=False) as journal:
        assert journal.row_count() == rows
    assert again == first
    other = size(queue, ["servers=1..40"], ["response_s_p95<=3.3s"], folder=tmp_path, seed=2)
    assert other.best is not None
    assert first.best is not None
    assert other.best.levels == first.best.levels


@pytest.mark.deep
def test_all_configurations_share_their_seeds(queue: Subject, tmp_path: Path) -> None:
    sizing = size(queue, ["servers=9..12"], ["response_s_mean<=1.2s"], folder=tmp_path)
    simulated = [step for step in sizing.trail if step.how == "simulation"]
    assert len(simulated) >= 2
    shortest = min(len(one.seeds) for one in simulated)
    assert len({tuple(one.seeds[:shortest]) for one in simulated}) == 1
    assert 0.97 <= sizing.confidence <= 0.99, "two or three verdicts with an error of 1% each"
    assert re.match(
        r"servers = 1\d is the smallest that meets every target: response_s_mean 1\.\d+ s \(",
        sizing.statement[0],
    )


def test_a_target_that_nothing_meets_says_what_comes_nearest_and_what_limits(
    tmp_path: Path,
) -> None:
    subject = subject_of({"model": "central_server", "completions": 5_000}, tmp_path, jobs=64)
    sizing = size(subject, ["disks=1..3"], ["throughput>=50/s"], folder=tmp_path)
    assert not sizing.is_found
    assert sizing.nearest is not None
    assert sizing.nearest.levels == {"disks": 3}
    text = " ".join(sizing.statement)
    assert "No configuration meets" in text
    assert re.search(r"Nearest comes disks = 3: throughput >= 50 /s missed with 2\d\.\d /s", text)
    assert sizing.limit is not None
    assert sizing.limit.name.startswith("disk")


def test_a_run_that_is_too_short_does_not_exclude_its_size(tmp_path: Path) -> None:
    """Cause: sizes whose runs gave no figures counted as too few, and with them all smaller ones.

    Oracle: M/M/9 with 8 Erlang has a mean of 1.65 s, M/D/9 less.
    """
    assert 1.0 + mmc_wait(9, 8.0) < 1.7
    (tmp_path / "model.py").write_text(OPEN_QUEUE.replace("exponential(1.0))", "1.0)", 1))
    short = subject_of({"file": "model.py", "completions": 20}, tmp_path)
    sizing = size(short, ["servers=9..30"], ["response_s_mean<=3s"], folder=tmp_path)
    assert {step.verdict for step in sizing.trail} == {"undecided"}
    assert len(sizing.trail) == 3
    assert sizing.statement[0] == "No answer: no configuration has results."
    assert "longer runs with --completions" in sizing.statement[-1]


def test_theory_settles_what_a_simulation_cannot_tell(queue: Subject, tmp_path: Path) -> None:
    """Oracle: a target 0.1% above the exact mean of 11 servers, far within any interval."""
    limit_s = 1.001 * (1.0 + mmc_wait(11, 8.0))
    sizing = size(queue, ["servers=9..14"], [f"response_s_mean<={limit_s:.9f}s"], folder=tmp_path)
    assert sizing.best is not None
    assert sizing.best.levels == {"servers": 11}
    assert "met by theory" in sizing.best.note


def test_a_queue_that_grows_beyond_the_target_fails_without_a_steady_state(tmp_path: Path) -> None:
    """Oracle: 500 users who think for 10 s offer 50 a second to 1 or 2 servers of 1 a second.

    Behind them the response time grows to 490 s or half of it, and takes as long to do so.
    """
    given: dict[str, Value] = {"think_s": 10.0, "service_s": 1.0, "users": 500}
    subject = subject_of({"model": "interactive", "completions": 200}, tmp_path, **given)
    over = ["station.server.servers=1..2"]
    sizing = size(subject, over, ["response_s_p95<=20s"], folder=tmp_path)
    simulated = [step for step in sizing.trail if step.how == "simulation"]
    assert simulated
    for step in simulated:
        assert step.fault is not None
        assert step.verdict == "fails"
        assert [check.met for check in step.checks] == [False]


def test_nothing_cheaper_fails_where_nothing_cheaper_was_given(
    queue: Subject, tmp_path: Path
) -> None:
    sizing = size(queue, ["servers=12..14"], ["response_s_mean<=2s"], folder=tmp_path)
    assert sizing.best is not None
    assert sizing.best.levels == {"servers": 12}
    assert sizing.statement[1].startswith("No cheaper one was given")


def test_without_results_there_is_no_verdict_on_targets(queue: Subject, tmp_path: Path) -> None:
    sizing = size(queue, ["servers=1..8"], ["response_s_mean<=2s"], folder=tmp_path)
    assert sizing.statement[0] == "No answer: every configuration is saturated."
    assert sizing.beyond is not None
    assert sizing.beyond.levels == {"servers": 9}


def test_where_more_is_worse_nothing_is_inferred(tmp_path: Path) -> None:
    """2 threads are faster than 1 and 12: the top fails, its neighbour is better than it."""
    (tmp_path / "model.py").write_text(THRASHING)
    subject = subject_of({"file": "model.py", "completions": 4_000}, tmp_path)
    sizing = size(subject, ["threads=1..12"], ["throughput>=1.15/s"], folder=tmp_path)
    assert not sizing.is_monotone
    assert sizing.contradictions
    assert sizing.best is not None
    assert sizing.best.levels == {"threads": 2}
    assert sizing.inferred == 0
    assert "not always better" in " ".join(sizing.statement)


def test_a_search_that_was_cut_short_says_what_it_did_not_try(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(THRASHING)
    subject = subject_of({"file": "model.py", "completions": 2_000}, tmp_path)
    sizing = size(subject, ["threads=1..12"], ["throughput>=1.15/s"], folder=tmp_path, most=3)
    assert sizing.not_tried > 0
    assert "were not tried" in " ".join(sizing.statement)


def test_a_formula_that_is_no_theorem_excludes_by_its_bound_and_a_margin_only() -> None:
    target = Target(metric="throughput", unit="1/s", bound=100.0, is_floor=True)
    rough = Forecast(values={"throughput": 1.0}, highest={"throughput": 95.0})
    assert excluded_by(target, rough) == ""
    exact = Forecast(values={"throughput": 99.0}, is_exact=True, method="exact (M/M/c)")
    assert "by theory" in excluded_by(target, exact)
    assert excluded_by(target, Forecast(highest={"throughput": 60.0}))


@pytest.mark.parametrize(
    ("axes", "why"),
    [
        ((Axis("serverz", (1,)),), "not a parameter"),
        ((Axis("servers", (1,)), Axis("servers", (2,))), "given twice"),
        ((Axis("servers", (0, 1)),), "below its lowest value"),
        ((Axis("servers", ("many",)),), "its type is int"),
        ((Axis("station.server.tokens", (1,)),), "a station has no tokens"),
    ],
)
def test_an_impossible_factor_is_refused_before_anything_runs(
    queue: Subject, axes: tuple[Axis, ...], why: str
) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        check_axes(axes, queue, queue.system.parameters())
    assert caught.value.cure


def test_a_guess_of_a_percentile_is_mended_by_the_first_simulation(tmp_path: Path) -> None:
    """Behind a saturated server a percentile is near the mean, far from the first guess of 3."""
    subject = subject_of(
        {"model": "interactive", "completions": 20_000}, tmp_path, think_s=1.0, users=60
    )
    over = ["station.server.servers=1..200"]
    sizing = size(subject, over, ["response_s_p95<=170ms"], folder=tmp_path)
    assert sizing.best is not None
    assert len([step for step in sizing.trail if step.how == "simulation"]) <= 6


BROKEN = OPEN_QUEUE.replace(
    "    request.use(",
    "    if servers > 0:\n        raise ValueError('out of order')\n    request.use(",
)


def test_a_model_that_never_runs_is_an_error_and_no_answer(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(OPEN_QUEUE)
    subject = subject_of({"file": "model.py", "completions": 1_000}, tmp_path)
    (tmp_path / "model.py").write_text(BROKEN)  # The workers load it again.
    with pytest.raises(StudyError, match=r"no configuration can be simulated.*out of order"):
        size(subject, ["servers=9..30"], ["response_s_mean<=1.2s"], folder=tmp_path)


@pytest.mark.parametrize("target", ["response_s_mean<=500ms", "response_s_p95<=500ms"])
def test_a_target_below_the_pure_service_time_is_named_as_the_cause(
    tmp_path: Path, target: str
) -> None:
    """Before, the answer told that nothing is saturated, and nothing of the second of service."""
    (tmp_path / "model.py").write_text(OPEN_QUEUE)
    subject = subject_of({"file": "model.py", "completions": 1_000}, tmp_path)
    sizing = size(subject, ["servers=12..14"], [target], folder=tmp_path)
    assert sizing.best is None
    assert "below the pure service time" in sizing.statement[1]
    assert "1.00 s on average (server 1.00 s)" in sizing.statement[1]
