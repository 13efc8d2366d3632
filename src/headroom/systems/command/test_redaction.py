"""Secrets in the output of a failed command are redacted before a row is stored."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.errors import HeadroomError, StudyError
from headroom.systems.command import CommandSystem
from headroom.systems.command.redaction import hide
from headroom.systems.command.setup_table import CommandSetup

PHRASE = "hunter2-is-mine"


def message_of(base: Path, **table: Any) -> str:
    """Return why a command fails."""
    system = CommandSystem.load(msgspec.convert(table, CommandSetup), base=base)
    with pytest.raises(HeadroomError) as caught:
        system.run({}, seed=1)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"password={PHRASE}",
        f"Password: {PHRASE}",
        f'"db_password": "{PHRASE}"',
        f"PGPASSWORD='{PHRASE} with blanks'",
        f"api_key = {PHRASE}",
        f"AWS_SECRET_ACCESS_KEY={PHRASE}",
        f"key: {PHRASE}",
        f"token={PHRASE}&user=me",
        f"Authorization: Bearer {PHRASE}",
        f"Cookie: session={PHRASE}; other={PHRASE}",
        f"postgres://me:{PHRASE}@db:5432/shop",
        f"https://:{PHRASE}@host",
        f"run --password {PHRASE} --verbose",
        f"-----BEGIN RSA PRIVATE KEY-----\n{PHRASE}\n{PHRASE}\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_the_usual_secrets_are_hidden(text: str) -> None:
    assert PHRASE not in hide(f"before {text} after")
    assert "***" in hide(text)


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'users'",
        "monkey: 3, keyboard=us",
        "http://localhost:8080/path?a=b",
        "12:30:05 compass: north",
        "error at line 3: expected ')'",
        "could not connect to me@db: timed out",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert hide(text) == text


@pytest.mark.parametrize(
    "table",
    [
        {"argv": ["sh", "-c", f"echo token={PHRASE} >&2; exit 3"]},
        {"argv": ["sh", "-c", 'echo "using $MY_TOKEN" >&2; exit 3'], "env": {"MY_TOKEN": PHRASE}},
        {"argv": ["sh", "-c", "cat /dev/null; exit 3", f"--password={PHRASE}"]},
        {"argv": ["sh", "-c", f"echo id {PHRASE}; exit 3"], "redact": [r"(?<=id )\S+"]},
        {"argv": ["echo", f"secret: {PHRASE}"], "metric": [{"name": "x", "regex": "(nothing)"}]},
        {"argv": ["true"], "clean_up": [["sh", "-c", f"echo pwd={PHRASE}; exit 1"]]},
    ],
    ids=["stderr", "environment", "arguments", "redact", "metric", "clean-up"],
)
def test_no_secret_is_in_the_message_of_a_failure(table: dict[str, Any], tmp_path: Path) -> None:
    """Cause: the last lines of stderr went into journal and page as they were."""
    message = message_of(tmp_path, **table)
    assert PHRASE not in message
    assert "***" in message


def test_a_line_that_is_cut_shows_no_value_without_its_name(tmp_path: Path) -> None:
    script = f"import sys; sys.exit('password=' + '{PHRASE}' * 500 + '\\nlast words')"
    message = message_of(tmp_path, argv=[sys.executable, "-c", script])
    assert PHRASE not in message.partition("the end of its stderr")[2]
    assert "last words" in message


def test_a_pattern_of_redact_that_is_wrong_is_refused(tmp_path: Path) -> None:
    setup = msgspec.convert({"argv": ["true"], "redact": ["("]}, CommandSetup)
    with pytest.raises(StudyError, match="redact"):
        CommandSystem.load(setup, base=tmp_path)
