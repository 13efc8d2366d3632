"""Compare the studies of two versions of Headroom: what is simulated to the last digit.

`python -m scripts.study_digest before.json` runs the quick form of every study and writes what it
found; on another version, `... after.json --against before.json` prints what differs and exits
with 1. Of a modelled experiment the digest has every estimate, knee and limit, and the verdicts
on its claims. Measurements differ between two runs: of theirs it has the names of the metrics and
claims. A change that only moves code changes nothing here.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

STUDIES = Path(__file__).resolve().parent.parent / "studies"
FOUND = ("estimates", "resources", "saturation", "solver", "levels", "failed")
"""What is compared of a modelled point."""

Digest: TypeAlias = dict[str, dict[str, Any]]


def results_of(study: Path) -> dict[str, Any]:
    """Return the results of the quick form of a study, which is run in a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / study.name
        shutil.copytree(study, copy, ignore=shutil.ignore_patterns("results", "pictures"))
        command = [sys.executable, "-m", "headroom", "run", str(copy), "--quick", "--quiet"]
        command += ["--trust"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        written = copy / "results" / "quick" / "results.json"
        if not written.exists():
            sys.exit(f"{study.name}: no results\n{done.stderr}")
        text = written.read_text(encoding="utf-8").replace(str(copy), study.name)
        results: dict[str, Any] = json.loads(text)
        return results


def digest_of(results: dict[str, Any]) -> dict[str, Any]:
    """Return what has to stay of a study's results.

    Examples
    --------
    >>> modelled = {"name": "m", "column": "model", "points": [], "knees": [], "metrics": {}}
    >>> digest_of({"experiments": [modelled], "claims": []})["claims"]
    []
    """
    experiments = {one["name"]: one for one in results["experiments"]}
    modelled = {name for name, one in experiments.items() if one["column"] == "model"}
    return {
        "metrics": {name: sorted(one["metrics"]) for name, one in experiments.items()},
        "claims": sorted(claim["name"] for claim in results["claims"]),
        "verdicts": {
            claim["name"]: [claim["verdict"], claim["value"], claim["low"], claim["high"]]
            for claim in results["claims"]
            if claim["experiment"] in modelled
            and (not claim["to_experiment"] or claim["to_experiment"] in modelled)
        },
        "modelled": {name: _hash_of(experiments[name]) for name in sorted(modelled)},
    }


def _hash_of(experiment: dict[str, Any]) -> str:
    points = [{key: point.get(key) for key in FOUND} for point in experiment["points"]]
    found = [points, experiment["knees"], experiment.get("limits"), experiment.get("fit")]
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def differences(before: Digest, after: Digest) -> list[str]:
    """Return a line for each thing that differs between two digests.

    Examples
    --------
    >>> differences({"a": {"claims": ["x"]}}, {"a": {"claims": []}})
    ['a, claims: ["x"] -> []']
    >>> differences({"a": {"modelled": {"m": "1"}}}, {"a": {"modelled": {"m": "2"}}})
    ['a, modelled m: "1" -> "2"']
    """
    lines = [f"{name}: in one of both alone" for name in sorted(before.keys() ^ after.keys())]
    for name in sorted(before.keys() & after.keys()):
        old, new = before[name], after[name]
        for kind in sorted(old.keys() | new.keys()):
            one, other = old.get(kind), new.get(kind)
            if isinstance(one, dict) and isinstance(other, dict):
                lines += [
                    f"{name}, {kind} {key}: {_short(one.get(key))} -> {_short(other.get(key))}"
                    for key in sorted(one.keys() | other.keys())
                    if one.get(key) != other.get(key)
                ]
            elif one != other:
                lines.append(f"{name}, {kind}: {_short(one)} -> {_short(other)}")
    return lines


def _short(value: object) -> str:
    return json.dumps(value)[:200]


def main() -> int:
    """Write the digest; return 1 if it differs from the given one."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("output", type=Path)
    parser.add_argument("studies", nargs="*", help="names of studies; none: all")
    parser.add_argument("--against", type=Path, help="an earlier digest")
    asked = parser.parse_args()
    names = asked.studies or sorted(path.parent.name for path in STUDIES.glob("*/study.toml"))
    digest: Digest = {}
    for name in names:
        print(name, file=sys.stderr, flush=True)
        digest[name] = digest_of(results_of(STUDIES / name))
    asked.output.write_text(json.dumps(digest, indent=1, sort_keys=True), encoding="utf-8")
    if asked.against is None:
        return 0
    before = json.loads(asked.against.read_text(encoding="utf-8"))
    found = differences({name: before[name] for name in names if name in before}, digest)
    print("\n".join(found) if found else f"no difference in {len(digest)} studies")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
