"""The program that is missing, or refuses."""

from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.systems.transactions.measured.program import VARIABLE, ask, program


def test_a_program_that_is_named_and_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(EnvironmentUnfitError, match="no program is there"):
        program()


@pytest.mark.usefixtures("transactions_program")
def test_the_reason_of_a_refusal_is_passed_on(tmp_path: Path) -> None:
    target = {"url": f"sqlite:{tmp_path}"}
    with pytest.raises(
        EnvironmentUnfitError, match="is not the name of a database of this program"
    ):
        ask({"do": "drop", "target": target, "database": "orders"})
    with pytest.raises(EnvironmentUnfitError, match="the URL holds a password") as refused:
        ask({"do": "check", "target": {"url": "postgres://me:secret@h"}, "database": "headroom_x"})
    assert "secret" not in str(refused.value)


@pytest.mark.usefixtures("transactions_program")
def test_a_server_that_is_not_there_is_named() -> None:
    target = {"url": "postgres://headroom@127.0.0.1:9"}
    with pytest.raises(EnvironmentUnfitError, match=r"cannot connect to headroom@127\.0\.0\.1:9"):
        ask({"do": "check", "target": target, "database": "headroom_x"})
