"""The files for releases agree with the project: version, dependencies, what is copied."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from scripts.release_version import disagreements, version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_file_that_names_the_version_has_that_of_cargo() -> None:
    assert disagreements(f"v{version()}") == []


def test_a_tag_of_another_version_fails() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "release_version.py")]
    right = subprocess.run([*script, f"v{version()}"], capture_output=True, text=True, check=False)
    wrong = subprocess.run([*script, version()], capture_output=True, text=True, check=False)
    assert right.returncode == 0, right.stderr
    assert wrong.returncode == 1
    assert f"the tag is {version()}" in wrong.stderr


def test_the_tag_of_this_commit_is_its_version() -> None:
    argv = ["git", "tag", "--points-at", "HEAD", "--list", "v*"]
    tags = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert [tag for tag in tags if disagreements(tag)] == []


def test_the_recipe_asks_for_what_the_project_asks_for() -> None:
    recipe = read("recipe/recipe.yaml")
    run = re.search(r"^  run:\n((?:    - .*\n)+)", recipe, re.MULTILINE)
    assert run is not None
    wanted = {re.sub(r"\s", "", line.strip(" -")) for line in run[1].splitlines()}
    project = PROJECT["project"]
    assert wanted == {*project["dependencies"], f"python{project['requires-python']}"}
    (maturin,) = PROJECT["build-system"]["requires"]
    assert f"- {maturin.replace('maturin', 'maturin ')}" in recipe
    assert f"name: {project['name']}\n" in recipe


def test_the_container_has_a_compiler_that_is_new_enough() -> None:
    oldest = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["rust-version"]
    image = re.search(r"rust:(\d+)\.(\d+)", read("Containerfile"))
    assert image is not None
    assert (int(image[1]), int(image[2])) >= tuple(map(int, oldest.split(".")[:2]))


def test_the_workflow_uses_commands_that_exist() -> None:
    workflow = read(".github/workflows/wheels.yml")
    targets = set(re.findall(r"run: make (\S+)", workflow))
    assert targets == {"wheel"}
    assert all(f"\n{target}:" in read("Makefile") for target in targets)
    named = re.findall(r"scripts/[\w.]+", workflow)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
