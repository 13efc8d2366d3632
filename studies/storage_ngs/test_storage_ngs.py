"""The study runs to its claims here, and its models say of table 1 what README.md says."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import ExitCode
from headroom.systems.storage.leftovers import PREFIX
from headroom.systems.storage.models.calibrate import PUBLISHED, Row
from headroom.systems.storage.places import memory_folder

FOLDER = Path(__file__).resolve().parent
QUICK_LIMIT_S = 900
OF_THE_TABLE = {
    "mean": "mean",
    "stdev": "deviation",
    "median": "median",
    "mean-deviation": "absolute_deviation",
}
DEVICES = {"ngs": "NGS", "eva": "EVA4400"}


def study() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "study.toml").read_text(encoding="utf-8"))


def left() -> set[Path]:
    return set(memory_folder().glob(f"{PREFIX}*"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], str]:
    """Exit code, results and output of the quick variant with `--check`, run in a copy."""
    copy = tmp_path_factory.mktemp("study") / "storage_ngs"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("results", "pictures"))
    before = left()
    command = [sys.executable, "-m", "headroom", "run", str(copy), "--quick", "--check"]
    done = subprocess.run(
        command, timeout=QUICK_LIMIT_S, check=False, capture_output=True, text=True
    )
    assert left() <= before
    results = json.loads((copy / "results" / "quick" / "results.json").read_text("utf-8"))
    return done.returncode, results, done.stdout


def test_the_quick_variant_ends_with_all_claims(quick: tuple[int, dict[str, Any], str]) -> None:
    _, results, said = quick
    names = {claim["name"] for claim in results["claims"]}
    assert names == {claim["name"] for claim in study()["claim"]}
    assert f"{len(names)} claims:" in said


def test_every_replication_of_the_quick_variant_was_carried_out(
    quick: tuple[int, dict[str, Any], str],
) -> None:
    points = [one for item in quick[1]["experiments"] for one in item["points"]]
    assert points
    assert [(one["levels"], one["errors"]) for one in points if one["failed"]] == []


def test_the_exit_code_says_whether_every_claim_holds(
    quick: tuple[int, dict[str, Any], str],
) -> None:
    """The machine may be too busy for a steady state somewhere: that is told first."""
    code, results, _ = quick
    points = [one for item in results["experiments"] for one in item["points"]]
    if not all(one["estimates"] for one in points):
        assert code == ExitCode.POINTS_FAILED
        return
    does_hold = all(claim["verdict"] == "holds" for claim in results["claims"])
    assert code == (ExitCode.DONE if does_hold else ExitCode.CLAIMS_DIFFER)


def test_the_models_settle_what_few_runs_can_settle(
    quick: tuple[int, dict[str, Any], str],
) -> None:
    """Simulations have fixed seeds, so these verdicts are the same on every machine."""
    verdicts = {claim["name"]: claim["verdict"] for claim in quick[1]["claims"]}
    for name in ("model-ngs-mean", "model-ngs-median", "model-deviation-ratio"):
        assert verdicts[name] == "holds", name
    for name in ("model-ngs-stdev", "model-ngs-mean-deviation"):
        assert verdicts[name] == "differs", name


def test_the_targets_stand_side_by_side_in_every_block(
    quick: tuple[int, dict[str, Any], str],
) -> None:
    found = {one["name"]: one for one in quick[1]["experiments"]}
    assert found["postmark"]["compared"]
    assert {one["name"] for one in quick[1]["experiments"]} == {
        one["name"] for one in study()["experiment"] if not one.get("quick", {}).get("skip")
    }


def test_the_claimed_numbers_are_those_of_table_1() -> None:
    """Table 1 is in milliseconds, metrics are in seconds."""
    claims = {claim["name"]: claim for claim in study()["claim"]}
    for short, device in DEVICES.items():
        row: Row = PUBLISHED[device]
        for words, field in OF_THE_TABLE.items():
            claim = claims[f"model-{short}-{words}"]
            assert claim["value"] * 1e3 == pytest.approx(getattr(row, field))
            assert claim["where"] == {"device": device}


def test_the_readme_has_a_row_for_every_claim() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    missing = [one["name"] for one in study()["claim"] if f"| `{one['name']}` |" not in text]
    assert missing == []
