"""`headroom what-limits` in the terminal and as a document."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import load
from headroom.gate import measuring
from tests.support.slowed_machine import FAST, STUDY, Machine


def test_the_command_prints_the_answer_and_the_document(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(measuring, "run_plan", Machine(FAST | {"db": 400.0}))
    monkeypatch.setenv("CI", "true")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    words = [str(tmp_path), "--runs", "20", "--quiet"]
    shown = CliRunner().invoke(load("what-limits"), words)
    text = " ".join(shown.output.split())
    assert '"db" limits at users = 40: a tenth less of it costs 10%' in text
    assert '"db" 10% faster: +11%' in text
    told = json.loads(CliRunner().invoke(load("what-limits"), [*words, "--json"]).output)
    assert (told["kind"], told["content"]["named"]) == ("causes", ["db"])
