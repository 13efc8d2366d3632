"""Tools: the samples of results that real ones wrote, and the command lines that they get.

`tests/data/suites` holds short results of each tool, without what names a machine.
"""

from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.gate.suites.running import Suite
from headroom.gate.suites.tool import Choice, Output, SuiteFailedError
from headroom.gate.suites.tools import TOOLS, UNFILTERED, tool_of

DATA = Path(__file__).parents[4] / "tests" / "data" / "suites"
ROWS = {
    "criterion": [("fib 10", "wall_s", 1.5707e-7), ("sums/10", "wall_s", 5.5672e-9),
                  ("sums/1000", "wall_s", 4.3472e-7)],
    "go": [("BenchmarkFib-2", "wall_s", 2.324e-7), ("BenchmarkSum/n=3-2", "wall_s", 1.795e-9),
           ("BenchmarkSum/n=6-2", "wall_s", 2.989e-7)],
    "google-benchmark": [("BM_fib/8", "processor_time_s", 2.5496e-8),
                         ("BM_fib/8", "wall_s", 2.6309e-8),
                         ("BM_wait/repeats:2", "processor_time_s", 1.8138e-6)],
    "hyperfine": [("sleep 0.01", "processor_time_s", 0.001416), ("sleep 0.01", "wall_s", 0.034899)],
    "jmh": [("org.example.It.fast:n=8", "rate", 2.08e9),
            ("org.example.It.fib:n=12", "wall_s", 4.1269e-7)],
    "k6": [("http_req_duration med", "wall_s", 0.00067980), ("iterations", "rate", 711.44)],
    "pytest-benchmark": [("test_it.py::test_sum[10]", "wall_s", 1.836e-7)],
}  # fmt: skip
"""Some rows of each recording; those of google-benchmark with two repetitions come twice."""


def recorded(name: str, stdout: str = "") -> Output:
    file = DATA / name / "stdout.txt"
    text = file.read_text(encoding="utf-8") if file.exists() else stdout
    return Output(stdout=text, scratch=DATA / name, wall_s=0.5, processor_time_s=0.25)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_results_of_real_tools_become_samples_in_base_units(name: str) -> None:
    found = {(one.name, one.metric): one for one in TOOLS[name].samples(recorded(name))}
    for row, metric, value in ROWS[name]:
        assert found[row, metric].value == pytest.approx(value, rel=0.01)
        assert found[row, metric].better == ("high" if metric == "rate" else "low")


@pytest.mark.parametrize("name", sorted(ROWS.keys() - UNFILTERED))
def test_a_choice_of_rows_reaches_the_command_line_and_the_users_own_words_stay(name: str) -> None:
    rows = [row for row, _, _ in ROWS[name]]
    choice = Choice(wanted=rows[:1], others=["another::test_a"])
    call = TOOLS[name].call(["bench", "own"], Path("scratch"), choice)
    words = " ".join(call.argv[2:])
    if name == "pytest-benchmark":
        assert "--deselect=another::test_a" in words
    else:
        assert f"^({rows[0].partition(':n=')[0].split('-')[0]})$" in words.replace("\\", "")
    assert call.argv[:2] == ["bench", "own"]
    assert TOOLS[name].call(call.argv, Path("scratch"), Choice()).argv[:2] == ["bench", "own"]


def test_tools_measure_briefly_unless_the_user_says_how_long() -> None:
    brief = TOOLS["go"].call(["./it.test"], Path(), Choice()).argv
    assert brief[1:] == ["-test.run=^$", "-test.bench=.", "-test.benchtime=100ms"]
    own = ["go", "test", "-benchtime=3s", "-bench=Fib"]
    assert TOOLS["go"].call(own, Path(), Choice()).argv == [*own, "-run=^$"]
    cargo = TOOLS["criterion"].call(["cargo", "bench", "--bench", "it"], Path(), Choice()).argv
    assert cargo[4:7] == ["--", "--warm-up-time", "0.3"]


def test_a_selected_test_keeps_the_one_whose_name_it_begins_with() -> None:
    choice = Choice(wanted=["t.py::test_sum2"], others=["t.py::test_sum", "t.py::test_x"])
    words = TOOLS["pytest-benchmark"].call(["pytest"], Path(), choice).argv
    assert [word for word in words if "deselect" in word] == ["--deselect=t.py::test_x"]


def test_a_printed_number_is_the_last_one_and_may_be_a_rate() -> None:
    output = recorded("none", "3 runs\nresult: 1.5e3 things\n")
    assert [(one.metric, one.value) for one in TOOLS["number"].samples(output)] == [
        ("number", 1500)
    ]
    assert [one.better for one in TOOLS["rate"].samples(output)] == ["high"]
    assert [one.value for one in TOOLS["program"].samples(output)] == [0.25, 0.5]
    with pytest.raises(SuiteFailedError, match="prints no number"):
        TOOLS["number"].samples(recorded("none", "nothing"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"benchmarks": [{"name": 3}]}'])
def test_results_of_something_else_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text(
        f"#!/bin/sh\nfor w; do case $w in --benchmark_out=*) echo '{text}' >${{w#*=}};; esac; done",
        encoding="utf-8",
    )
    (tmp_path / "tool").chmod(0o755)
    with pytest.raises(SuiteFailedError, match=r"wrote no results|not results of google-benchmark"):
        suite("google-benchmark", ["./tool"]).run(tmp_path, Choice())


def suite(name: str, *commands: list[str], limit_s: float = 20.0) -> Suite:
    return Suite(name=name, tool=tool_of(name), commands=commands, time_limit_s=limit_s)


def test_several_commands_name_their_rows_and_a_choice_runs_only_its_own(tmp_path: Path) -> None:
    both = suite("number", ["echo", "1"], ["echo", "2"])
    assert [(one.name, one.value) for one in both.run(tmp_path, Choice())] == [
        ("echo 1", 1.0), ("echo 2", 2.0),
    ]  # fmt: skip
    assert [one.name for one in both.run(tmp_path, Choice(wanted=["echo 2"]))] == ["echo 2"]


def test_a_process_that_fails_or_never_ends_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(SuiteFailedError, match="ended with 3:\nlast words"):
        suite("program", ["sh", "-c", "echo last words >&2; exit 3"]).run(tmp_path, Choice())
    with pytest.raises(SuiteFailedError, match="ended with -9"):
        suite("program", ["sleep", "60"], limit_s=0.2).run(tmp_path, Choice())
    with pytest.raises(SuiteFailedError, match="cannot start"):
        suite("program", ["./nowhere"]).run(tmp_path, Choice())


def test_an_unknown_tool_is_refused_with_the_known_ones() -> None:
    with pytest.raises(StudyError, match="no such tool: `x`"):
        tool_of("x")
