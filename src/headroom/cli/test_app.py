"""Errors become messages with a hint and a documented exit code, in one place."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headroom.cli import session
from headroom.cli.app import _known_system_error, _line, app, command_names, load
from headroom.errors import EnvironmentUnfitError, ExitCode, HeadroomError, StudyError
from scripts.reference.command_line import command_line


def invoke(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Return exit code and stderr of a command in whose midst `error` is raised."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(session, "looked_at", fail)
    answer = CliRunner().invoke(app, ["status", "somewhere"])
    assert answer.stdout == ""
    return answer.exit_code, answer.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StudyError("the key 'levles' is unknown", cure="write 'levels'"), ExitCode.USAGE),
        (EnvironmentUnfitError("no zstd", cure="install zstd"), ExitCode.ENVIRONMENT),
        (HeadroomError("[bold]not markup[/bold]", cure="none"), ExitCode.USAGE),
    ],
)
def test_an_error_is_told_with_its_cure(
    error: HeadroomError, code: ExitCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    exit_code, told = invoke(error, monkeypatch)
    assert exit_code == code
    assert error.message in told
    assert f"hint: {error.cure}" in told


@pytest.mark.parametrize(
    ("number", "word"),
    [(errno.ENOSPC, "disk is full"), (errno.EROFS, "not allowed to write")],
)
def test_a_full_or_read_only_disk_is_an_unfit_environment(
    number: int, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exit_code, told = invoke(OSError(number, "refused", str(Path("results"))), monkeypatch)
    assert exit_code == ExitCode.ENVIRONMENT
    assert word in told
    assert "results" in told


def test_a_full_disk_speaks_of_a_journal_where_there_is_one() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with_journal = _known_system_error(full, has_journal=True)
    without = _known_system_error(full, has_journal=False)
    assert with_journal is not None
    assert without is not None
    assert "every finished replication is in the journal" in with_journal.message
    assert without.message == "the disk is full; the output is incomplete"


def test_a_name_that_is_not_utf8_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    name = os.fsdecode(b"bad\xff")
    exit_code, told = invoke(UnicodeEncodeError("utf-8", name, 3, 4, "surrogates"), monkeypatch)
    assert exit_code == ExitCode.USAGE
    assert r"the name bad\xff is not UTF-8" in told
    result = CliRunner().invoke(app, ["init", name])
    assert (result.exit_code, Path(name).exists()) == (ExitCode.USAGE, False)
    assert "rename it" in result.stderr


def test_ctrl_c_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke(KeyboardInterrupt(), monkeypatch)[0] == ExitCode.INTERRUPTED


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(session, "looked_at", fail)
    answer = CliRunner().invoke(app, ["status", "somewhere"])
    assert isinstance(answer.exception, ZeroDivisionError)


@pytest.mark.parametrize(
    "name",
    ["audit", "import", "size", "solve", "what-if", "check-disk", "model show", "compare", "init"],
)
def test_a_command_without_what_it_needs_says_so_in_two_plain_lines(name: str) -> None:
    answer = CliRunner().invoke(app, name.split())
    assert answer.exit_code == ExitCode.USAGE
    assert answer.stdout == ""
    error, hint = answer.stderr.splitlines()
    assert error.startswith("headroom: error: ")
    assert hint.startswith("  hint: ")
    assert f"headroom {name} " in hint


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        ("compre", "there is no command `compre`", "did you mean 'compare'?"),
        ("model shw", "there is no command `shw`", "did you mean 'show'?"),
        ("show --jsn", "there is no option `--jsn`", "did you mean `--json`"),
        ("records advise --seconds 5", "there is no option `--seconds`", "did you mean `--time`?"),
        ("records advise --record 5", "there is no option `--record`", "`--records`"),
        ("--bogus", "there is no option `--bogus`", "`headroom -h` lists"),
        ("run --seed x", "`x` is not a valid whole number", "`headroom run -h` lists"),
        ("status a b", "unexpected argument `b`", "`headroom status STUDY`"),
    ],
)
def test_a_wrong_command_line_is_an_error_like_every_other(
    words: str, error: str, hint: str
) -> None:
    answer = CliRunner().invoke(app, words.split())
    assert answer.exit_code == ExitCode.USAGE
    assert error in answer.stderr.splitlines()[0]
    assert hint in answer.stderr.splitlines()[1]


def test_a_group_without_a_command_prints_its_help() -> None:
    answer = CliRunner().invoke(app, ["model"])
    assert "Usage: " in answer.stdout
    assert "error" not in answer.stderr


def test_the_help_has_the_line_of_every_command_without_loading_one() -> None:
    for name in command_names():
        command = typer.main.get_command(load(name))
        expected = " ".join((command.help or "").split("\n\n")[0].split())
        assert _line(name).help == expected, name
    code = (
        "import sys; from headroom.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted(one for one in sys.modules if one in ('numpy', 'msgspec', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")
    headings = [line for line in done.stdout.splitlines() if line.startswith("╭")]
    assert len(headings) == 6


@pytest.mark.parametrize("words", [("--current", "5"), ("--load", "users")])
def test_an_option_about_a_limit_is_not_ignored_without_one(words: tuple[str, str]) -> None:
    answer = CliRunner().invoke(app, ["show", "somewhere", *words])
    assert answer.exit_code == ExitCode.USAGE
    assert f"{words[0]} is about a limit, and there is no --limit" in answer.stderr


def test_the_reference_lists_commands_as_they_are_called() -> None:
    """Cause: it listed `headroom records`, whose only command is `records advise`."""
    headings = re.findall(r"^## headroom (.+)$", command_line(), re.MULTILINE)
    assert "records advise" in headings
    for words in headings:
        answer = CliRunner().invoke(app, [*words.split(), "--help"])
        assert answer.exit_code == 0, words
        assert "COMMAND [ARGS]" not in answer.stdout, words
