"""The check of a device runs to its claims, its model is fitted to it, and nothing is left."""

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
from headroom.systems.storage.places import disk_folder
from headroom.systems.storage.setup_table import parse_bytes

FOLDER = Path(__file__).resolve().parent
QUICK_LIMIT_S = 900


def study() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "study.toml").read_text(encoding="utf-8"))


def left() -> set[Path]:
    return set(disk_folder(FOLDER).glob(f"{PREFIX}*"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], str]:
    """Exit code, results and output of the quick variant with `--check`, run in a copy."""
    copy = tmp_path_factory.mktemp("study") / "disk_check"
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


def experiment(results: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in results["experiments"] if one["name"] == name)
    return found


def test_the_models_are_fitted_to_the_sweeps_alone(quick: tuple[int, dict[str, Any], str]) -> None:
    sources = {"foreseen": {"depths", "sizes", "sparse"}, "foreseen_files": {"files"}}
    for name, swept in sources.items():
        assert set(experiment(quick[1], name)["fit"]["sources"]) == swept
        assert experiment(quick[1], name)["column"] == "model"


def test_a_sync_policy_that_was_foreseen_has_figures(
    quick: tuple[int, dict[str, Any], str],
) -> None:
    found = experiment(quick[1], "foreseen_files")
    if found["fit"]["state"] == "fitted":
        runs_s = [one["estimates"]["run_s"]["value"] for one in found["points"]]
        assert len(runs_s) == 2
        assert min(runs_s) > 0.0


def test_the_open_load_is_half_of_the_maximum(quick: tuple[int, dict[str, Any], str]) -> None:
    """Oracle: what arrived per second is what the share of the maximum asks for."""
    reads = [
        one["estimates"]["throughput"]["value"]
        for one in experiment(quick[1], "depths")["points"]
        if one["levels"]["read_share"] == 1.0 and one["estimates"]
    ]
    (point,) = experiment(quick[1], "open")["points"]
    if len(reads) == 3 and point["estimates"]:
        rate = point["estimates"]["throughput"]["value"] + 0.0
        # Poisson arrivals of some thousand requests; a busy machine answers fewer of them.
        assert rate == pytest.approx(0.5 * max(reads), rel=0.3)


def test_the_claims_about_the_model_are_about_the_same_load() -> None:
    content = {one["name"]: one for one in study()["experiment"]}
    ramp, foreseen = content["ramp"], content["foreseen"]
    assert foreseen["seeds_of"] == "ramp"
    for measured, predicted in ((ramp, foreseen), (ramp["quick"], foreseen["quick"])):
        assert measured["factors"] == predicted["factors"]
        assert measured["fixed"]["bsus"] == predicted["fixed"]["bsus"]
    size = parse_bytes(ramp["system"]["targets"]["device"]["bytes"])
    assert foreseen["fixed"]["target_bytes"] == size
    quick_size = parse_bytes(ramp["quick"]["system"]["targets"]["device"]["bytes"])
    assert foreseen["quick"]["fixed"]["target_bytes"] == quick_size


def test_what_is_foreseen_of_files_is_not_what_was_fitted() -> None:
    content = {one["name"]: one for one in study()["experiment"]}
    swept, measured, foreseen = (content[name] for name in ("files", "postmark", "foreseen_files"))
    assert foreseen["seeds_of"] == "postmark"
    for one, other in ((measured, foreseen), (measured["quick"], foreseen["quick"])):
        same = {name: value for name, value in one["fixed"].items() if name != "workload"}
        assert same == other["fixed"]
    for one, other in ((swept, measured), (swept["quick"], measured["quick"])):
        for name in ("postmark_files", "postmark_transactions", "postmark_bias_read"):
            assert one["fixed"].get(name) != other["fixed"][name]


def test_the_readme_has_a_row_for_every_claim() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    missing = [one["name"] for one in study()["claim"] if f"| `{one['name']}` |" not in text]
    assert missing == []
