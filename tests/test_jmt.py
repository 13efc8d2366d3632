"""Models written for JMT and read back: theory and simulation give the same answers."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from benches.known.subject import Subject, measured
from benches.known.subjects import subjects
from headroom.cli.app import app
from headroom.jmt import jsimg_text, read_jsimg, write_jsimg, xml_tree
from headroom.jmt.read import model_of
from headroom.simulation import (
    Distribution,
    Model,
    SimulationError,
    bounded_pareto,
    canonical_json,
    constant,
    coxian,
    discrete,
    erlang,
    expected_visits,
    exponential,
    gamma,
    geometric,
    hyperexponential,
    hypoexponential,
    lognormal,
    mixture,
    mmpp,
    normal,
    offered_loads,
    pareto,
    simulate,
    uniform,
    weibull,
)
from headroom.solvers import solve

SUBJECTS = {subject.name: subject for subject in subjects()}
SHARE = 0.05

SIMULATED = (
    "M/M/1/5, load 0.8",
    "M/M/4, priorities, 2 classes of load 0.4",
    "M/G/1, preemption, 3 classes: D, M, H2",
    "central server, 8 job(s)",
    "thread pool around CPU and disk, 2 thread(s), 10 clients",
    "3 stations that block, saturated, buffers of 1",
    "fork and join of 2, load 0.5",
    "M/H2/1, limited sharing, load 0.7, c2 4, 3 share",
    "MMPP/M/1, rates 1.2 and 0.2, jumps 0.1",
    "two queues in turns, load 0.8",
    "three queues, the shorter of two is joined, load 0.7",
    "open network with feedback, arrivals 0.36, loads 0.72 and 0.36",
    "pool granted by priority, 2 classes of load 0.4",
)

# Features that JMT cannot express, and a part of the message about each.
REFUSED = {
    "M/M/2, load 0.8": "by condition",
    "M/M/4, load 0.9": "by condition",
    "M/M/8, load 0.7": "by condition",
    "M/M/16, load 0.95": "by condition",
    "M/M/1, arrivals in groups": "batches of arrivals",
    "M(t)/M/infinite": "changing_rate",
    "M/M/2, unequal servers": "different speed",
    "M/M/1, service in batches": "serves batches",
    "M/M/1 with breakdowns": "no breakdowns",
    "M/M/2, each server breaks": "no breakdowns",
    "M/M/1, stay up to": "no attempts",
    "M/M/1/1, rejected jobs try again": "no attempts",
    "both servers asked": "rest of a fork",
    "quorum of parts": "rest of a fork",
    "call with a second phase": "no replies",
    "tokens taken one or two": "2 tokens",
    "2 stations, blocking before service": "blocking before service",
}


def again(model: Model) -> Model:
    """Return a model that was written for JMT and read back."""
    return model_of(xml_tree.parse(jsimg_text(model).encode(), "model.jsimg"))


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_a_known_model_has_the_same_loads_in_jmts_words_or_is_refused(subject: Subject) -> None:
    expected = [
        part
        for name, part in REFUSED.items()
        if subject.name.startswith(name) and "percentile" not in subject.name
    ]
    model = subject.build()
    if expected:
        with pytest.raises(SimulationError, match=expected[0]):
            jsimg_text(model)
        return
    twin, visits = again(model), expected_visits(model)
    canonical_json(twin)
    for name, demands in visits.demands.items():
        found = expected_visits(twin).demands[name]
        assert {demand: found[demand] for demand in demands} == pytest.approx(demands, rel=1e-9)
    assert offered_loads(twin) == pytest.approx(
        {offered_load: offered_loads(model)[offered_load] for offered_load in offered_loads(twin)}
    )


@pytest.mark.parametrize("name", SIMULATED)
def test_the_simulation_of_a_model_read_back_gives_the_known_answers(name: str) -> None:
    subject = SUBJECTS[name]
    twin = replace(subject, build=lambda: again(subject.build()))
    for found in measured(twin, share=SHARE):
        if found.answer.is_exact:
            told = (found.answer.quantity, found.answer.value, found.mean, found.half_width)
            assert found.is_inside, told


@st.composite
def product_form_models(draw: st.DrawFn) -> Model:
    """Draw a closed network of one or two classes on shared, queueing and delay stations."""
    model = Model("random", time_unit=draw(st.sampled_from(["s", "ms", "us"])))
    services = st.floats(0.1, 10)
    kinds = draw(st.lists(st.sampled_from(["fcfs", "ps", "infinite"]), min_size=1, max_size=4))
    stations = [
        model.station(
            f"station {number}",
            discipline=kind,  # type: ignore[arg-type]
            servers=1 if kind == "infinite" else draw(st.integers(1, 3)),
        )
        for number, kind in enumerate(kinds)
    ]
    by_station = [draw(services) for _ in stations]
    for number in range(draw(st.integers(1, 2))):
        program = model.program(f"class {number}")
        names = [station.name for station in stations]
        with program.network() as net:
            for station, mean in zip(stations, by_station, strict=True):
                weights = [draw(st.integers(0, 3)) for _ in names]
                total = sum(weights) + 2
                to: dict[str, float] = {
                    name: weight / total for name, weight in zip(names, weights, strict=True)
                }
                to[net.leave] = 1 - math.fsum(to.values())
                with net.node(station.name, to=to):
                    program.use(station, exponential(mean))
        model.closed_class(
            f"class {number}",
            program,
            population=draw(st.integers(1, 5)),
            think=draw(st.one_of(st.none(), services.map(exponential))),
        )
    return model


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(product_form_models())
def test_random_product_form_networks_keep_their_solution(model: Model) -> None:
    read = again(model)
    before, after = solve(model), solve(read)
    assert before.is_exact == after.is_exact
    # A file has only the stations that jobs visit, and their servers decide the method.
    if read.stations.keys() == model.stations.keys():
        assert before.method == after.method
    for one, other in zip(before.classes, after.classes, strict=True):
        assert other.name == one.name
        assert other.throughput_per_s == pytest.approx(one.throughput_per_s, rel=1e-6)
        assert other.response_s == pytest.approx(one.response_s, rel=1e-6)


def of_law(law: Distribution) -> Model:
    model = Model("law", time_unit="ms")
    program = model.program("jobs")
    program.use(model.station("server"), law)
    model.closed_class("jobs", program, population=1)
    return model


LAWS = [
    constant(3),
    uniform(1, 4),
    exponential(2),
    erlang(6, 3),
    gamma(2, 0.4),
    hyperexponential(2, 9),
    lognormal(5, 2),
    weibull(2, 0.7),
    pareto(1, 3.5),
    normal(8, 2),
    coxian([1, 4], [0.3]),
    coxian([1, 4, 2], [0.3, 0.9]),
    hypoexponential([1, 3]),
    hypoexponential([1, 3, 5]),
    mixture([exponential(1), exponential(7)], [3, 1]),
    mixture([exponential(1), erlang(4, 2), exponential(9)], [3, 1, 1]),
    2.5 * weibull(2, 0.7),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_law_keeps_its_mean_and_its_variation(law: Distribution) -> None:
    (step,) = again(of_law(law)).programs["jobs"].steps
    found = step.amounts["service"]
    assert isinstance(found, Distribution)
    assert found.mean == pytest.approx(law.mean / 1000)
    assert found.c2 == pytest.approx(law.c2)


@pytest.mark.parametrize("law", [bounded_pareto(1, 9, 2), discrete([1, 2], [1, 1])], ids=str)
def test_a_law_that_jmt_does_not_know_is_refused_with_its_line(law: Distribution) -> None:
    with pytest.raises(SimulationError, match=r"test_jmt\.py:\d+: JMT has no"):
        jsimg_text(of_law(law))


def walk(steps: Callable[[Model], None]) -> Model:
    model = Model("walk", time_unit="s")
    steps(model)
    program = model.programs["jobs"]
    model.closed_class("jobs", program, population=3, think=exponential(2))
    return model


def loops(model: Model) -> None:
    cpu, disk, program = model.station("cpu"), model.station("disk"), model.program("jobs")
    with program.loop(3):
        program.use(cpu, exponential(1))
        with program.loop(geometric(2, low=0)):
            program.use(disk, erlang(2, 2))
    program.use(cpu, exponential(4))


def forks(model: Model) -> None:
    cpu, disk, program = model.station("cpu"), model.station("disk"), model.program("jobs")
    with program.fork() as fork:
        for station in (cpu, cpu, disk):
            with fork.arm():
                program.use(station, exponential(1))
        with fork.arm(), program.branch() as branch:
            with branch.case(0.25):
                program.use(disk, exponential(1))
            with branch.otherwise():
                program.delay(exponential(3))
        with fork.arm():
            pass
    program.use(cpu, exponential(5))


def calls(model: Model) -> None:
    cpu, inner = model.station("cpu", servers=2), model.program("inner")
    inner.use(cpu, exponential(2))
    program = model.program("jobs")
    program.call(inner)
    program.delay(constant(1))
    program.call(inner)


@pytest.mark.parametrize("steps", [loops, forks, calls])
def test_programs_with_loops_forks_and_calls_keep_their_demands(
    steps: Callable[[Model], None],
) -> None:
    model = walk(steps)
    twin = again(model)
    canonical_json(twin)
    found, expected = expected_visits(twin), expected_visits(model)
    for name, demand in expected.demands["jobs"].items():
        assert found.demands["jobs"][name] == pytest.approx(demand)
        assert found.counts["jobs"][name] == pytest.approx(expected.counts["jobs"][name])


@pytest.mark.parametrize("steps", [loops, forks, calls])
def test_programs_with_loops_forks_and_calls_run_alike(steps: Callable[[Model], None]) -> None:
    model = walk(steps)
    rates = []
    for one in (model, again(model)):
        result = simulate(one, seed=3, completions=20_000)
        rates.append(20_000 / float(result.snapshot_times_s[-1]))
    assert rates[1] == pytest.approx(rates[0], rel=0.03)


def test_the_same_model_is_written_as_the_same_text() -> None:
    assert jsimg_text(walk(loops)) == jsimg_text(walk(loops))


def test_a_file_says_where_every_closed_job_is_at_time_0() -> None:
    # JMT's simulator makes no other closed jobs: without these nothing ever happens.
    model = of_law(exponential(1))
    job = model.classes["jobs"]
    model.classes["jobs"] = replace(job, population=5, placed=(("server", 2),))
    root = xml_tree.parse(jsimg_text(model).encode(), "model.jsimg")
    sim = root.first("sim")
    assert sim is not None
    found = {
        station.attribute("stationName"): one.attribute("population")
        for preload in sim.all("preload")
        for station in preload.children
        for one in station.children
    }
    assert found == {"Think": "3", "server": "2"}


def test_a_file_holds_a_place_for_each_node() -> None:
    root = xml_tree.parse(jsimg_text(walk(forks)).encode(), "model.jsimg")
    sim, layout = root.first("sim"), root.first("jmodel")
    assert sim is not None
    assert layout is not None
    places = {
        (one.attributes["x"], one.attributes["y"])
        for station in layout.all("station")
        for one in station.all("position")
    }
    assert [one.attribute("name") for one in sim.all("node")].sort() == [
        one.attribute("name") for one in layout.all("station")
    ].sort()
    assert len(places) == len(list(sim.all("node")))


# --- From the command line. ---


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model = Model("shop", time_unit="ms")
    web, program = model.station("web", servers=2), model.program("request")
    program.use(web, exponential(50))
    model.closed_class("users", program, population=10, think=exponential(400))
    process = mmpp(rates=[0.004, 0.001], switch_rates=[[0, 0.01], [0.01, 0]])
    model.open_class("robots", program, interarrival=process)
    monkeypatch.chdir(tmp_path)
    write_jsimg(model, "shop.jsimg")
    return tmp_path


def ran(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.usefixtures("shop")
def test_a_file_of_jmt_is_a_model_wherever_one_is_named() -> None:
    assert "class.users.population = 10" in ran("model", "show", "shop.jsimg")
    assert "station.web.servers" in ran("solve", "shop.jsimg", "--set", "station.web.servers=2,4")
    assert "<svg" in ran("model", "picture", "shop.jsimg")
    assert '"closed"' in ran("model", "json", "shop.jsimg")
    ran("model", "trace", "shop.jsimg", "-o", "trace.json", "--events", "100")


def test_headroom_model_jsimg_writes_a_model_with_its_settings(shop: Path) -> None:
    changes = ["--set", "class.users.population=7", "--set", "class.robots.arrival_rate=5"]
    ran("model", "jsimg", "shop.jsimg", *changes, "--set", "station.web.servers=3", "-o", "b.jsimg")
    twin = read_jsimg(shop / "b.jsimg")
    assert twin.classes["users"].population == 7
    assert twin.classes["robots"].arrival_rate == pytest.approx(5)
    assert twin.stations["web"].servers == 3


def test_a_study_varies_what_a_file_of_jmt_says(shop: Path) -> None:
    (shop / "study.toml").write_text(
        """
        schema = 1
        name = "shop"
        title = "A shop of JMT"
        seed = 1
        question = "How many servers?"

        [[experiment]]
        name = "servers"
        replications = { count = 2 }

        [experiment.system]
        name = "model"
        file = "shop.jsimg"
        completions = 2000

        [experiment.factors]
        "station.web.servers" = [1, 2]
        "class.users.population" = [5]
        """
    )
    assert "station.web.servers" in ran("run", ".", "--quiet", "--all")


def test_a_broken_file_ends_in_a_message_and_exit_code_2(shop: Path) -> None:
    (shop / "broken.jsimg").write_text("<archive><sim>")
    done = CliRunner().invoke(app, ["solve", "broken.jsimg"])
    assert done.exit_code != 0
    assert not isinstance(done.exception, (ValueError, KeyError, TypeError))
