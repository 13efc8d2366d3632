"""The system `command` from its table to its runs, including failures."""

import os
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.systems.command import CommandSystem
from headroom.systems.command.failure import CommandFailedError
from headroom.systems.command.setup_table import CommandSetup
from tests.support.study_text import Head

MIB = 1024 * 1024


def command(base: Path, **table: Any) -> CommandSystem:
    return CommandSystem.load(msgspec.convert(table, CommandSetup), base=base)


def values_of(system: CommandSystem, **config: Value) -> Mapping[str, float]:
    return system.run(config, seed=7).values


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_arguments_reach_the_program_as_they_are_without_a_shell(tmp_path: Path) -> None:
    script = "import sys; print(repr(sys.argv[1:]))"
    argv = [sys.executable, "-c", script, "a b", "$HOME", "{word}", "*", ""]
    echo = {"name": "count", "regex": r"^(.*)$"}
    system = command(tmp_path, argv=argv, metric=[echo])
    with pytest.raises(CommandFailedError) as caught:
        values_of(system, word="; rm x")
    assert repr(["a b", "$HOME", "; rm x", "*", ""]) in caught.value.message


def test_peak_memory_is_that_of_the_program_and_not_of_this_process(tmp_path: Path) -> None:
    """Oracle: a program that fills 64 MiB needs that much more than one that fills none.

    Cause of the launcher: Linux counts the size of the starting process into the peak of the
    started one, so this process is made much larger than the ones it starts.
    """
    ballast = np.ones(256 * MIB // 8)
    script = "import sys; filled = b'x' * int(sys.argv[1])"
    system = command(tmp_path, argv=[sys.executable, "-I", "-S", "-c", script, "{size_bytes}"])
    without = values_of(system, size_bytes=0)["peak_memory_bytes"]
    filled = values_of(system, size_bytes=64 * MIB)["peak_memory_bytes"]
    assert filled - without == pytest.approx(64 * MIB, rel=0.05)
    assert without < 32 * MIB < ballast.nbytes


def test_processor_time_is_counted_and_lies_within_the_wall_time(tmp_path: Path) -> None:
    script = "total = sum(i * i for i in range(400_000))"
    values = values_of(command(tmp_path, argv=[sys.executable, "-c", script]))
    assert 0 < values["user_s"] <= values["wall_s"]


def test_the_output_is_counted_and_never_kept_in_memory(tmp_path: Path) -> None:
    script = "import sys; [sys.stdout.write('x' * 1048576) for _ in range(96)]"
    script += "; [sys.stderr.write('y' * 65536) for _ in range(64)]"
    values = values_of(command(tmp_path, argv=[sys.executable, "-c", script]))
    assert values["stdout_bytes"] == 96 * MIB


def test_figures_come_from_output_files_and_quotients(tmp_path: Path) -> None:
    script = "echo took 4; echo '{{\"n\": 8}}' > result.json; printf abc > product; echo five 5 >&2"
    metrics = [
        {"name": "took_s", "unit": "s", "better": "low", "regex": r"took (\d+)"},
        {"name": "five", "regex": r"five (\d+)", "from": "stderr"},
        {"name": "n", "json_path": "$.n", "from": "result.json"},
        {"name": "product_bytes", "unit": "B", "size_of": "product"},
        {"name": "rate", "unit": "1/s", "better": "high", "quotient": ["n", "took_s"]},
    ]
    system = command(tmp_path, argv=["sh", "-c", script], metric=metrics)
    values = values_of(system)
    picked = [values[name] for name in ("took_s", "five", "n", "product_bytes", "rate")]
    assert picked == [4, 5, 8, 3, 2]
    units = {metric.name: (metric.unit, metric.better) for metric in system.metrics({})}
    assert units["rate"] == ("1/s", "high")
    assert list(units) == list(values)


def test_set_up_warm_up_measured_run_and_clean_up_follow_each_other(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def note(word: str) -> list[str]:
        return ["sh", "-c", f"echo {word} {{users}} $USERS >> {log}"]

    table = {"argv": note("run"), "set_up": [note("up"), note("more")], "clean_up": [note("down")]}
    values_of(command(tmp_path, **table, warm_up_runs=2, env={"USERS": "{users}"}), users=3)
    assert log.read_text().split("\n")[:-1] == [
        f"{word} 3 3" for word in ("up", "more", "run", "run", "run", "down")
    ]


def test_each_replication_has_a_fresh_folder_that_is_gone_afterwards(tmp_path: Path) -> None:
    script = f'test -z "$(ls)" && touch mark && pwd >> {tmp_path}/folders'
    system = command(tmp_path, argv=["sh", "-c", script])
    for seed in (1, 2):
        system.run({}, seed=seed)
    first, second = (tmp_path / "folders").read_text().split()
    assert first != second
    assert not Path(first).exists()


def test_the_given_placeholders_name_the_study_the_folder_and_the_seed(tmp_path: Path) -> None:
    script = (
        'test "$PWD" = "{work}" && "{python}" -V >&2 && cat "{study}/number" && echo seed {seed}'
    )
    (tmp_path / "number").write_text("12 ")
    metrics = [{"name": "all", "regex": r"12 seed (\d+)"}]
    system = command(tmp_path, argv=["sh", "-c", script], metric=metrics)
    assert values_of(system)["all"] == 7
    assert system.parameters() == ()


def test_standard_input_is_a_file_or_empty(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    assert values_of(command(tmp_path, argv=["cat"]))["stdout_bytes"] == 0
    assert values_of(command(tmp_path, argv=["cat"], stdin="{study}/text"))["stdout_bytes"] == 5


def test_an_accepted_exit_code_is_a_metric_and_any_other_a_failure(tmp_path: Path) -> None:
    argv = ["sh", "-c", "echo it broke >&2; exit 3"]
    assert values_of(command(tmp_path, argv=argv, ok_exit_codes=[0, 3]))["exit_code"] == 3
    with pytest.raises(CommandFailedError, match=r"exit code 3.*\n.*it broke"):
        values_of(command(tmp_path, argv=argv))


def test_a_killed_program_is_a_failure_that_names_the_signal(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match=r"signal 9 \(SIGKILL\)"):
        values_of(command(tmp_path, argv=["sh", "-c", "kill -KILL $$"]))


def test_the_time_limit_kills_the_program_and_all_its_descendants(tmp_path: Path) -> None:
    """Fault: a child in the background, and a grandchild that left the session."""
    script = (
        f"(sleep 1000 & echo $! >> {tmp_path}/pids; wait) & "
        f"{sys.executable} -c 'import os, time; os.setsid(); "
        f'open("{tmp_path}/pids", "a").write(str(os.getpid()) + "\\n"); '
        "os.fork(); time.sleep(1000)' & "
        "echo waiting >&2; wait"
    )
    system = command(tmp_path, argv=["sh", "-c", script], time_limit_s=2.0)
    with pytest.raises(CommandFailedError, match=r"time limit of 2 s.*\n.*waiting"):
        values_of(system)
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert pids
    assert not any(is_alive(pid) for pid in pids)


def test_a_server_that_set_up_started_lives_until_the_clean_up_is_over(tmp_path: Path) -> None:
    start = ["sh", "-c", f"sleep 1000 >/dev/null & echo $! > {tmp_path}/server"]
    is_there = ["sh", "-c", f"kill -0 $(cat {tmp_path}/server)"]
    values_of(command(tmp_path, argv=is_there, set_up=[start], clean_up=[is_there]))
    assert not is_alive(int((tmp_path / "server").read_text()))


def test_the_time_limit_spares_a_server_that_set_up_started(tmp_path: Path) -> None:
    start = ["sh", "-c", f"sleep 1000 >/dev/null & echo $! > {tmp_path}/server"]
    stop = ["sh", "-c", f"kill $(cat {tmp_path}/server) && echo stopped > {tmp_path}/stopped"]
    system = command(
        tmp_path, argv=["sleep", "1000"], set_up=[start], clean_up=[stop], time_limit_s=0.2
    )
    with pytest.raises(CommandFailedError, match="time limit"):
        values_of(system)
    assert (tmp_path / "stopped").exists()


def test_clean_up_runs_after_a_failure_and_does_not_hide_it(tmp_path: Path) -> None:
    clean_up = [["sh", "-c", f"touch {tmp_path}/cleaned; exit 9"]]
    with pytest.raises(CommandFailedError, match=r"(?s)exit code 4.*clean-up failed.*code 9"):
        values_of(command(tmp_path, argv=["sh", "-c", "exit 4"], clean_up=clean_up))
    assert (tmp_path / "cleaned").exists()


def test_a_failed_clean_up_fails_the_point(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match="exit code 9"):
        values_of(command(tmp_path, argv=["true"], clean_up=[["sh", "-c", "exit 9"]]))


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_when_headroom_is_interrupted_or_killed_the_program_dies_too(
    tmp_path: Path, signal_number: signal.Signals
) -> None:
    """Fault: the pipe ends only when the program and its child, which hold it, are both dead."""
    os.mkfifo(tmp_path / "pipe")
    source = f"""
from pathlib import Path
from headroom.systems.command import CommandSystem
from headroom.systems.command.setup_table import CommandSetup
argv = ["sh", "-c", "exec 3>'{tmp_path}/pipe'; echo started >&3; sleep 1000 & wait"]
setup = CommandSetup(argv=argv, clean_up=[["touch", "{tmp_path}/cleaned"]])
CommandSystem.load(setup, base=Path("/")).run({{}}, seed=1)
"""
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    driver = subprocess.Popen(
        [sys.executable, "-c", source], stderr=subprocess.DEVNULL, env=environment
    )
    with driver, (tmp_path / "pipe").open("rb", buffering=0) as pipe:
        assert pipe.readline() == b"started\n"
        driver.send_signal(signal_number)
        readable, _, _ = select.select([pipe], [], [], 60)
        if not readable:
            driver.kill()
        assert readable
        assert pipe.read() == b""
    assert driver.returncode == -signal_number
    assert (tmp_path / "cleaned").exists() == (signal_number == signal.SIGINT)
    deadline_s = time.monotonic() + 60
    while list((tmp_path / "tmp").iterdir()):  # The launcher removes it after the program died.
        assert time.monotonic() < deadline_s


@pytest.mark.parametrize("role", ["set_up", "clean_up"])
def test_a_failure_around_the_program_is_not_told_as_one_of_the_program(
    tmp_path: Path, role: str
) -> None:
    system = command(
        tmp_path, argv=["true"], ok_exit_codes=[0, 4], **{role: [["sh", "-c", "exit 4"]]}
    )
    with pytest.raises(
        CommandFailedError, match=r"the .* command `sh -c exit 4` ended with"
    ) as caught:
        values_of(system)
    assert role.replace("_", "-") in caught.value.message
    assert "ok_exit_codes" not in caught.value.cure


@pytest.mark.parametrize(
    ("text", "words", "cure"),
    [
        ('argv = ["true"]', "no parameter 'n'", "use {n} in argv, env"),
        ("argv = []", "argv: is an empty list", "at least one item"),
        (
            'argv = ["{n}"]\n[experiment.system.metric]',
            "a list of tables is needed",
            "write [[experiment.system.metric]] with two brackets",
        ),
    ],
)
def test_a_study_is_told_what_to_write(tmp_path: Path, text: str, words: str, cure: str) -> None:
    (tmp_path / "study.toml").write_text(
        Head("s", "t", "e").then(f"""\
factors = {{ n = [1, 2] }}
[experiment.system]
name = "command"
{text}
""")
    )
    with pytest.raises(StudyError) as caught:
        make_plan(load_study(tmp_path), quick=False)
    assert words in caught.value.message
    assert cure in caught.value.cure


def test_a_missing_program_is_named_before_the_first_run(tmp_path: Path) -> None:
    system = command(tmp_path, argv=["headroom-no-such-program"])
    with pytest.raises(EnvironmentUnfitError, match=r"headroom-no-such-program.*PATH") as caught:
        system.prepare()
    assert "install" in caught.value.cure


def test_a_program_that_is_a_level_fails_at_its_own_points_only(tmp_path: Path) -> None:
    system = command(tmp_path, argv=["{program}"])
    system.prepare()
    assert values_of(system, program="true")["exit_code"] == 0
    with pytest.raises(EnvironmentUnfitError, match="program 'headroom-no-such-program' not found"):
        values_of(system, program="headroom-no-such-program")


@pytest.mark.parametrize(
    ("mode", "content", "words"),
    [
        (stat.S_IRUSR, "#!/bin/sh\n", "not executable"),
        (stat.S_IRWXU, "#!/no/such/interpreter\n", "could not start"),
    ],
)
def test_a_script_that_cannot_start_says_why(
    tmp_path: Path, mode: int, content: str, words: str
) -> None:
    script = tmp_path / "script"
    script.write_text(content)
    script.chmod(mode)
    with pytest.raises(EnvironmentUnfitError, match=words) as caught:
        values_of(command(tmp_path, argv=["{study}/script"]))
    assert caught.value.cure


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfitError, match="nowhere does not exist"):
        values_of(command(tmp_path, argv=["true"], folder="nowhere"))


def test_the_overhead_of_the_launcher_is_measured_and_not_subtracted(tmp_path: Path) -> None:
    facts = command(tmp_path, argv=["true"]).prepare()
    assert 0 < facts["launcher_overhead_s_median"] <= facts["launcher_overhead_s_max"]
    assert facts["launcher_overhead_runs"] >= 30
    assert values_of(command(tmp_path, argv=["true"]))["wall_s"] > 0


def test_a_placeholder_is_a_parameter_that_takes_any_value(tmp_path: Path) -> None:
    (level,) = command(tmp_path, argv=["gzip", "-{level}"]).parameters()
    assert (level.name, level.unit, level.default) == ("level", "1", None)
    assert [level.check(value) for value in (9, "fast", 0.5)] == [9, "fast", 0.5]


def test_a_declared_parameter_has_type_unit_range_and_source(tmp_path: Path) -> None:
    table = {"type": "int", "unit": "1", "low": 1, "high": 9, "source": "manual", "default": 6}
    system = command(tmp_path, argv=["gzip", "-{level}"], parameters={"level": table})
    (level,) = system.parameters()
    assert (level.type, level.low, level.high, level.source, level.default) == (
        ("int", 1, 9, "manual", 6)
    )


@pytest.mark.parametrize(
    ("table", "words", "cure"),
    [
        ({"argv": ["x", "{level}"], "parameters": {"levle": {}}}, "'levle'", "level"),
        (
            {"argv": ["x", "{a}", "{lvel}"], "parameters": {"a": {}, "level": {}}},
            "'level' is declared, but no text",
            "lvel",
        ),
        ({"argv": ["x", "{a}", "{sudy}"], "parameters": {"a": {}}}, "{sudy}", "study"),
        ({"argv": ["{study}"], "parameters": {"study": {}}}, "Headroom itself", "another name"),
        ({"argv": ["x"], "metric": [{"name": "wall_s", "regex": "(a)"}]}, "duplicate", "user_s"),
        (
            {"argv": ["x"], "metric": [{"name": "p99", "unit": "ms", "regex": "(a)"}]},
            "`p99` is kept in s, but its name does not say so",
            'write name = "p99_s"',
        ),
        ({"argv": ["x", "a\0b"]}, "zero byte", "without it"),
        ({"argv": ["x"], "env": {"A": "\0"}}, "zero byte", "without it"),
        (
            {"argv": ["x"], "metric": [{"name": "r", "quotient": ["wal_s", "user_s"]}]},
            "'wal_s'",
            "wall_s",
        ),
    ],
)
def test_a_contradicting_table_is_refused_with_the_likely_correction(
    tmp_path: Path, table: dict[str, Any], words: str, cure: str
) -> None:
    with pytest.raises(StudyError) as caught:
        command(tmp_path, **table)
    assert words in caught.value.message
    assert cure in caught.value.cure


def test_the_fingerprint_changes_with_command_levels_and_scripts_only(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("first")
    argv = ["sh", "{study}/script", "{level}"]
    base = command(tmp_path, argv=argv)
    same = base.fingerprint({"level": 1})
    described = {"level": {"type": "int", "description": "of effort"}}
    kept = command(tmp_path, argv=argv, time_limit_s=5, parameters=described)
    assert kept.fingerprint({"level": 1}) == same
    assert base.fingerprint({"level": 2}) != same
    assert command(tmp_path, argv=argv, warm_up_runs=1).fingerprint({"level": 1}) != same
    script.write_text("second")
    assert base.fingerprint({"level": 1}) == same, "a plan sees one state of the files"
    assert base.look_again() == ("script",)
    assert base.fingerprint({"level": 1}) != same


def test_the_fingerprint_does_not_depend_on_where_the_study_lies(tmp_path: Path) -> None:
    prints = set()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "script").write_text("same")
        prints.add(command(tmp_path / name, argv=["sh", "{study}/script"]).fingerprint({}))
    assert len(prints) == 1


def test_errors_of_a_command_can_be_shown_to_a_user(tmp_path: Path) -> None:
    with pytest.raises(HeadroomError) as caught:
        values_of(command(tmp_path, argv=["sh", "-c", "exit 4"]))
    assert "hint:" in str(caught.value)
