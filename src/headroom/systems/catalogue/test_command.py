"""`headroom catalogue` becomes the program of the service, or says how to get it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str, program: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HEADROOM_CATALOGUE": str(program)}
    argv = [sys.executable, "-m", "headroom", "catalogue", *arguments]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "passed_on"),
    [
        (["serve"], "serve"),
        (["serve", "--config", "a b.toml"], "serve --config a b.toml"),
        (["set-password", "--config", "c.toml", "ann"], "set-password --config c.toml -- ann"),
        (["show-schema", "--config", "c.toml"], "show-schema --config c.toml"),
        (["show-config"], "show-config"),
    ],
)
def test_the_program_gets_the_arguments(
    arguments: list[str], passed_on: str, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$*"\nexit 7\n', encoding="utf-8")
    program.chmod(0o755)
    done = run(*arguments, program=program)
    assert (done.stdout, done.returncode) == (f"{passed_on}\n", 7)


def test_a_program_that_does_not_exist_is_explained(tmp_path: Path) -> None:
    done = run("serve", program=tmp_path / "none")
    assert done.returncode == 5
    assert "HEADROOM_CATALOGUE names" in done.stderr
    assert "unset the variable" in done.stderr
