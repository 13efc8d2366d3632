"""Observers of a command: metrics, series and verdict, as `headroom run` stores them."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from headroom.analysis.verdicts.culprits import SATURATED
from headroom.errors import StudyError
from headroom.systems.command import CommandSystem
from headroom.systems.command.setup_table import CommandSetup
from tests.support.study_text import Head

BURN = "import time\nwhile time.process_time() < 0.9: pass\nprint('rate', 100)"
STUDY = Head("observed", "Observed", "burn").then("""\
replications = { count = 2 }

[experiment.system]
name = "command"
argv = ["{python}", "{study}/burn.py"]

[experiment.system.observe]
interval_s = 0.05
throughput = "rate"

[[experiment.system.metric]]
name = "rate"
unit = "1/s"
regex = 'rate (\\d+)'
""")


@pytest.mark.deep
def test_the_busiest_thread_or_processor_is_the_bottleneck_of_a_measured_point(
    tmp_path: Path,
) -> None:
    """A thread that never waits, though other programs or a hypervisor may take its processor."""
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "burn.py").write_text(BURN)
    command = [sys.executable, "-m", "headroom", "run", str(tmp_path), "--quiet"]
    subprocess.run(command, check=True, capture_output=True)
    result = json.loads((tmp_path / "results" / "results.json").read_text())
    (point,) = result["experiments"][0]["points"]
    estimates = {name: one["value"] for name, one in point["estimates"].items()}
    spent_s = estimates["program.cpu_s_per_op"] * 100 * estimates["wall_s"]
    used_s = estimates["user_s"] + estimates["system_s"]
    assert spent_s == pytest.approx(used_s, rel=0.1)
    parts = ("program.busiest_thread", "machine.cpu")
    busy = {part: estimates[f"{part}.utilization"] for part in parts}
    assert busy["program.busiest_thread"] * estimates["wall_s"] == pytest.approx(used_s, rel=0.1)
    assert 0.0 < estimates["observer.cpus"] < 1.0
    runnable = estimates["program.busiest_thread.runnable_share"]
    assert runnable >= busy["program.busiest_thread"]
    bottleneck = point["bottleneck"]
    # Where others fill the machine, a thread that waits for a processor is as good as busy.
    share = runnable if busy["machine.cpu"] >= SATURATED else busy["program.busiest_thread"]
    assert bottleneck["limits"] == (share >= SATURATED)
    assert not bottleneck["limits"] or bottleneck["name"] in parts


def test_a_rate_that_is_no_metric_is_refused(tmp_path: Path) -> None:
    setup = {"argv": ["true"], "observe": {"throughput": "tps"}}
    with pytest.raises(StudyError, match="'tps' is not a metric with the unit 1/s"):
        CommandSystem.load(msgspec.convert(setup, CommandSetup), base=tmp_path)


def test_results_depend_on_what_is_observed_but_not_on_the_key_itself(tmp_path: Path) -> None:
    def fingerprint(**more: object) -> str:
        setup = msgspec.convert({"argv": [sys.executable], **more}, CommandSetup)
        return CommandSystem.load(setup, base=tmp_path).fingerprint({})

    assert fingerprint() != fingerprint(observe={}) != fingerprint(observe={"interval_s": 1.0})


@pytest.mark.deep
def test_the_logs_of_a_failed_run_are_kept_shown_and_exported(tmp_path: Path) -> None:
    """Fault: the program fails; its messages and the log of its service are what explains it."""
    study, service = STUDY.split("[experiment.system.observe]", maxsplit=1)[0], "service.py"
    study += (
        '[[experiment.system.service]]\nname = "db"\nready = { line = "ready" }\n'
        f'argv = ["{{python}}", "-u", "{{study}}/{service}"]\n'
    )
    (tmp_path / "study.toml").write_text(study)
    code = "import sys; sys.exit('password=hunter22 is <b>wrong</b>')"
    (tmp_path / "burn.py").write_text(code)
    (tmp_path / service).write_text("import time\nprint('ready to serve')\ntime.sleep(600)")
    headroom = [sys.executable, "-m", "headroom"]
    run = subprocess.run([*headroom, "run", str(tmp_path)], check=False, capture_output=True)
    assert run.returncode == 1, run.stderr
    out = tmp_path / "out"
    subprocess.run(
        [*headroom, "export", str(tmp_path), "--what", "artefacts", "-o", str(out)],
        check=True,
        capture_output=True,
    )
    texts = {path.name: path.read_text() for path in out.rglob("*.log")}
    assert texts == {"db.log": "ready to serve\n", "stderr.log": "password=*** is <b>wrong</b>\n"}
    page = (tmp_path / "results" / "report.html").read_text()
    assert "ready to serve" in page
    assert "hunter22" not in page
