"""Questions about a model or a study: what formulas say, what size suffices, what would be lost."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from benches.known.formulas import repairman_throughput
from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.protocol.system import Confirmation, Value
from headroom.experiment.runner.progress import Progress
from headroom.experiment.study.plan import Plan
from headroom.report.terminal.solved import SolvedPoint
from headroom.sessions.overwrite import confirm, foresight_lines, needed
from headroom.sessions.runnable import check_points
from headroom.sessions.sizing import Wanted, size_subject
from headroom.sessions.solving import POINTS_AT_MOST, solve_model, solve_plan
from headroom.sessions.study_session import open_plan, repeat_command
from headroom.sessions.subjects import (
    find_model,
    find_subject,
    is_study,
    refuse_endless,
    with_config,
)
from headroom.sessions.trying import Trying, try_changes
from headroom.sizing.result import SizingResult
from headroom.sizing.space import Axis
from tests.support.example_plan import ExampleStudy
from tests.support.study_text import Head

STUDY = Head("shop", "A shop", "load", seed=7).then("""\
system = { name = "model", model = "mm1", time_s = 60.0 }
fixed = { service_s = 0.02 }
factors = { utilization = [0.5, 0.8] }
warm_up = { method = "fixed", seconds = 3.0 }

[[experiment]]
name = "clock"
system = { name = "command", argv = ["true"] }
""")


def written(folder: Path, text: str = STUDY) -> Path:
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return folder


def axis(name: str, *levels: Value) -> Axis:
    return Axis(name, levels)


def responses(points: Iterable[SolvedPoint]) -> dict[tuple[Value, ...], float]:
    """Return the mean response (s) by the levels of each point."""
    return {tuple(one.levels.values()): one.forecast.values["response_s_mean"] for one in points}


def solved(name: str, *axes: Axis) -> list[SolvedPoint]:
    return list(solve_model(name, find_model(name), axes, asked=repr(name)))


def test_formulas_answer_each_combination_of_levels() -> None:
    """Oracle: M/M/1, R = S / (1 - U); twice as fast, U and S are halved."""
    axes = (axis("utilization", 0.5, 0.8), axis("service_s", 0.01, 0.02))
    found = solved("mm1", *axes)
    assert [*found[0].levels] == ["utilization", "service_s"]
    assert responses(found) == pytest.approx(
        {(u, s): s / (1.0 - u) for u in (0.5, 0.8) for s in (0.01, 0.02)}
    )
    (fast,) = solved("mm1", axis("station.server.speed", 2.0), axis("utilization", 0.8))
    assert fast.forecast.values["response_s_mean"] == pytest.approx(0.005 / 0.6)
    assert {one.simulate for one in solved("mm1")} == {""}


def test_points_of_a_study_are_solved_once_for_each_level_that_is_not_set(tmp_path: Path) -> None:
    plan = open_plan(written(tmp_path), quick=False)
    assert responses(solve_plan(plan, [])) == pytest.approx({(0.5,): 0.04, (0.8,): 0.1})
    more = [*solve_plan(plan, [axis("utilization", 0.9)])]
    assert len(more) == 1
    assert responses(more) == pytest.approx({(0.9,): 0.2})
    with pytest.raises(StudyError, match="is measured, but formulas"):
        list(solve_plan(plan.only(["clock"]), []))


LOGNORMAL = """
from headroom.simulation import Model, exponential, lognormal


def build(rate: float, size: float = 1.0) -> Model:
    model = Model("x", time_unit="s")
    one = model.program("one")
    one.use(model.station("cpu", servers=3, discipline="random"), lognormal(size, 9.0))
    model.open_class("users", one, interarrival=exponential(1.0 / rate))
    return model
"""


def test_what_has_no_estimate_offers_a_short_simulation(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(LOGNORMAL, encoding="utf-8")
    (point,) = solved(str(path), axis("rate", 2.9))
    if point.forecast.refused:
        call = f"hr.simulate({str(path)!r}, rate=2.9, completions=20_000, replications=5)"
        assert point.simulate == call
    (other,) = solved(str(path), axis("rate", 2.9), axis("station.cpu.speed", 2.0))
    assert other.simulate == ""
    with pytest.raises(StudyError, match=r"'rate' of model .* has no value"):
        solved(str(path))


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ((axis("load", 0.5),), "--set load names no parameter"),
        ((axis("station.disk.speed", 2.0),), "disk"),
        ((axis("utilization", 2.0),), "above its highest"),
        ((axis("utilization", *[0.5] * (POINTS_AT_MOST // 2 + 1)), axis("service_s", 1.0, 2.0)),
         "asks for 100,002 points"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_asked_is_refused(axes: Sequence[Axis], said: str) -> None:
    with pytest.raises(StudyError, match=said):
        solved("mm1", *axes)


def test_a_study_is_a_subject_with_the_values_that_it_fixes(tmp_path: Path) -> None:
    name = str(written(tmp_path))
    assert (is_study(name), is_study(f"{name}/study.toml"), is_study("mm1")) == (True, True, False)
    assert not is_study(str(tmp_path / "results"))
    subject, folder = find_subject(name, "load", None, ["utilization"])
    assert (dict(subject.config), folder) == ({"service_s": 0.02}, tmp_path / "results")
    setup: Any = subject.setup
    assert (subject.name, setup.completions, setup.time_s) == (tmp_path.name, None, 60.0)
    assert (subject.base, subject.warm_up.seconds) == (tmp_path, 3.0)
    other: Any = find_subject(name, "load", 900, ["service_s"])[0]
    assert (other.setup.completions, other.setup.time_s, other.config) == (900, None, {})
    model: Any = find_subject("mm1", "", 30, [])[0]
    assert (model.setup.completions, model.base, model.config) == (30, Path.cwd(), {})
    for words, said in (
        (("", None), "several experiments: load, clock"),
        (("lod", None), "no experiment 'lod'"),
        (("clock", None), "is measured"),
    ):
        with pytest.raises(StudyError, match=said):
            find_subject(name, *words, [])
    with pytest.raises(StudyError, match="needs a study"):
        find_subject("mm1", "load", None, [])
    alone = written(tmp_path, STUDY.partition('[[experiment]]\nname = "clock')[0])
    assert find_subject(str(alone), "", None, [])[0].warm_up.seconds == 3.0


def test_what_has_no_default_is_set_or_varied(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(LOGNORMAL, encoding="utf-8")
    subject = find_subject(str(path), "", 30, [])[0]
    assert with_config(subject, {}, ["rate"]).config == {"size": 1.0}
    assert [*with_config(subject, {"size": 2.0, "rate": 3.0}, []).config] == ["rate", "size"]
    with pytest.raises(StudyError, match="'rate' has no value"):
        with_config(subject, {}, ["size"])


class Quiet:
    """A silent voice."""

    def note(self, message: str) -> None:
        """Take a message."""

    insist = note

    def progress(self) -> Progress:
        """Return a silent progress."""
        return Progress(Console(file=io.StringIO()))


def sized(folder: Path, *targets: str, **more: Any) -> SizingResult:
    axes = (axis("servers", 1.0, 2.0, 3.0, 4.0),)
    subject = find_subject("mmc", "", 2000, ["servers"])[0]
    given = {"utilization": 0.7, **more.pop("given", {})}
    subject = with_config(subject, given, ["servers"])
    wanted = Wanted(over=axes, target=targets, processes=1, **more)
    place = folder / "new" / "journal"
    return size_subject(subject, wanted, place, name="x", command="again", voice=Quiet())


def test_the_smallest_size_meets_every_target_and_the_one_below_fails(tmp_path: Path) -> None:
    """Oracle: M/M/c at 70% load, S = 10 ms: R = 33.3, 19.6, 15.5 and 13.6 ms."""
    found = sized(tmp_path, "response_s_mean<=17ms", confidence=0.9)
    assert found.best is not None
    assert repr(found.best.levels) == "{'servers': 3}"
    trail = {str(one.levels["servers"]): one.verdict for one in found.trail}
    assert (trail["3"], trail["2"]) == ("meets", "fails")
    # One factor may need four verdicts, and two support the answer: half of the 10% was used.
    assert (found.seed, found.command) == (1, "again")
    assert found.confidence == pytest.approx(0.95)
    priced = sized(tmp_path, "response_s_mean<=100ms", cost=["servers=5"], seed=4)
    assert priced.best is not None
    assert (priced.best.levels, priced.best.cost, priced.seed) == ({"servers": 1}, 5.0, 4)
    assert "arrivals of class jobs grow 4 times" in priced.statement[-1]
    assert "--over station.server.servers=1..4" in priced.statement[-1]
    assert sized(tmp_path, "response_s_mean<=11ms", most=2).best is None
    with pytest.raises(StudyError, match="two targets for response_s_mean"):
        sized(tmp_path, "response_s_mean<=1ms", "response_s_mean<=2ms")


DAY = """
from headroom.simulation import Model, changing_rate, exponential

def build():
    model = Model("day", time_unit="s")
    request = model.program("request")
    request.use(model.station("database"), exponential(0.8))
    arrivals = changing_rate(times=[0, 40_000], rates=[0.4, 1.35])
    model.open_class("users", request, interarrival=arrivals)
    return model
"""


def test_a_day_without_an_end_is_refused_before_its_first_minutes_are_taken_for_it(
    tmp_path: Path,
) -> None:
    """Cause: 20,000 completions were over before the peak, and one server seemed enough."""
    (tmp_path / "day.py").write_text(DAY, encoding="utf-8")
    name = str(tmp_path / "day.py")
    for chosen in (find_subject(name, "", None, [])[0], find_subject(name, "", 30, [])[0]):
        wanted = Wanted(over=("station.database.servers=1..2",), target=("response_s_mean<=9s",))
        with pytest.raises(StudyError, match="arrival rate of class users changes") as caught:
            size_subject(chosen, wanted, tmp_path / "j", name="x", command="", voice=Quiet())
        assert "--time-s" in caught.value.cure
        asked = Trying()
        with pytest.raises(StudyError, match="arrival rate of class users changes"):
            try_changes(asked.one_point(chosen), tmp_path / "k", asked, voice=Quiet())
    refuse_endless(find_subject(name, "", None, [], 80_000.0)[0].system, {})


def test_without_a_target_the_least_is_named_that_reaches_99_percent(tmp_path: Path) -> None:
    """Oracle: machine repairman, 40 users who think for 10 s; 5 servers reach 98.3%, 6 99.5%."""
    reached = [repairman_throughput(count, 40, 10.0) for count in range(1, 17)]
    least = 1 + next(n for n, rate in enumerate(reached) if rate >= 0.99 * reached[-1])
    given: Any = {"users": 40, "think_s": 10.0, "service_s": 1.0}
    subject = with_config(find_subject("interactive", "", 20_000, [])[0], given, [])
    wanted = Wanted(over=("station.server.servers=1..16",), processes=2)
    place = tmp_path / "j"
    found = size_subject(subject, wanted, place, name="x", command="", voice=Quiet())
    assert found.best is not None
    assert found.best.levels == {"station.server.servers": least}
    assert "99%" in found.statement[-1]


def test_a_load_is_no_size(tmp_path: Path) -> None:
    """Cause: of 1 to 64 jobs "no configuration" did 30 a second within 0.6 s; 12 to 20 do."""
    subject = find_subject("central_server", "", 2000, ["jobs"])[0]
    subject = with_config(subject, {}, ["jobs"])
    goals = ("throughput>=30/s", "response_s_mean<=600ms")
    wanted = Wanted(over=("jobs=1..64",), target=goals)
    with pytest.raises(StudyError, match="jobs is a load here: jobs of class jobs grow 64 times"):
        size_subject(subject, wanted, tmp_path / "j", name="x", command="", voice=Quiet())


class Disk:
    """A system that overwrites `target` of a point, unless it is 0; 9 cannot run at all."""

    def __init__(self, seen: list[object]) -> None:
        self.seen = seen

    def confirmations(self, config: Mapping[str, Value]) -> tuple[Confirmation, ...]:
        """Return the words for its target."""
        held = "a file system" if config["users"] == 1 else ""
        return (Confirmation(words=f"/dev/{config['users']} 4096", holds=held),)

    def confirm(self, words: Sequence[str]) -> None:
        """Note the words."""
        self.seen.append(list(words))

    def foresight(self, config: Mapping[str, Value]) -> tuple[str, ...]:
        """Return the planned writes."""
        return ("writes 4096 B",) if config["users"] == 1 else ("writes", f"{config['users']}")

    def check_point(self, config: Mapping[str, Value]) -> None:
        """Refuse two points."""
        self.seen.append(config["users"])
        if config["users"] in {2, 9}:
            raise EnvironmentUnfitError(f"no {config['users']}", cure="look")


def disks(*levels: int, seen: list[object] | None = None, system: Any = None) -> Plan:
    plan = ExampleStudy(levels=levels).plan()
    disk: Any = Disk([] if seen is None else seen) if system is None else system
    one = replace(plan.experiments[0], system=disk)
    return replace(plan, experiments=(one,))


def test_what_would_be_overwritten_is_named_and_needs_its_words() -> None:
    seen: list[object] = []
    plan = disks(1, 2, 1, seen=seen)
    assert [one.words for one in needed(plan)] == ["/dev/1 4096", "/dev/2 4096"]
    with pytest.raises(EnvironmentUnfitError) as caught:
        confirm(plan, ["/dev/3 4096"])
    assert "/dev/1 (a file system), /dev/2 (nothing was recognised there)" in caught.value.message
    assert (
        caught.value.cure == 'to allow it, add --overwrite "/dev/1 4096" --overwrite "/dev/2 4096"'
    )
    with pytest.raises(StudyError, match="names nothing that this run would overwrite"):
        confirm(plan, ["/dev/1 4096", "/dev/2 4096", "/dev/3 4096"])
    assert seen == []
    confirm(plan, [" /dev/1   4096", "/dev/2 4096"])
    assert seen == [["/dev/1 4096", "/dev/2 4096"]]
    assert foresight_lines(plan) == ["writes 4096 B (web)", "writes (web)", "2 (web)"]
    nothing = disks(1, system=SimpleNamespace())
    assert (needed(nothing), foresight_lines(nothing)) == ([], [])
    confirm(nothing, [])


def test_points_that_cannot_run_are_named_before_anything_starts() -> None:
    seen: list[object] = []
    check_points(disks(1, 3, seen=seen))
    assert seen == [1, 3]
    with pytest.raises(EnvironmentUnfitError) as caught:
        check_points(disks(1, 2, 3, 9, seen=seen))
    assert caught.value.message == "experiment 'web', users = 2: no 2; 1 more point cannot run"
    assert caught.value.cure == "look"
    with pytest.raises(HeadroomError, match=r"^experiment 'web', users = 9: no 9\n"):
        check_points(disks(9))
    early = SimpleNamespace(check_files=seen.clear, check_point=None)
    early.check_files = lambda config: seen.append(str(config["users"]))
    check_points(disks(4, system=early))
    assert seen[-1] == "4"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "headroom run shop/it"),
        ({"quick": True}, "headroom run shop/it --quick"),
        ({"seed": 9}, "headroom run shop/it --seed=9"),
        (
            {"seed": 7, "settings": ["service_s=0.5 "]},
            "headroom run shop/it --set 'service_s=0.5 '",
        ),
    ],
)
def test_the_command_that_repeats_a_study_names_no_path_of_this_machine(
    tmp_path: Path, more: dict[str, Any], said: str
) -> None:
    folder = tmp_path / "shop" / "it"
    folder.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    plan = open_plan(written(folder), **{"quick": False, **more})
    assert repeat_command(plan) == said
    assert repeat_command(replace(plan, command="mine")) == "mine"
