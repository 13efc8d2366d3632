"""Statements for the database: commits are counted once no connection hides any."""

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.systems.catalogue.measured import database
from headroom.systems.catalogue.measured.database import commit_count, make_database


class Answers:
    """A connection to a database with some other connections, which end one by one."""

    def __init__(self, *, others: int = 0, exists: bool = True) -> None:
        self.others, self.exists = others, exists
        self.asked: list[str] = []

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """Return the rows of a statement."""
        self.asked.append(statement.split()[1])
        if "pg_terminate_backend" in statement:
            self.others -= 1
            return [(True,)] * (self.others + 1)
        if "xact_commit" in statement:
            return [("41" if self.others < 0 else "40",)]
        return [(1,)] * self.exists


@pytest.mark.parametrize("others", [0, 1, 3])
def test_commits_are_counted_after_the_last_connection_has_ended(
    others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PAUSE_S", 0.0)
    connection = Answers(others=others)
    assert commit_count(connection) == 41.0  # type: ignore[arg-type]
    assert len(connection.asked) == others + 2


def test_a_connection_that_does_not_end_is_an_error_only_after_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([0.0, 9.0, 11.0])
    monkeypatch.setattr(
        "headroom.systems.catalogue.measured.database.time.monotonic", lambda: next(times)
    )
    monkeypatch.setattr(database, "_PAUSE_S", 0.0)
    connection = Answers(others=100)
    with pytest.raises(EnvironmentUnfitError, match="do not end within 10 s"):
        commit_count(connection)  # type: ignore[arg-type]
    assert len(connection.asked) == 2


@pytest.mark.parametrize("exists", [True, False])
def test_the_database_is_made_unless_it_is_there(*, exists: bool) -> None:
    connection = Answers(exists=exists)
    make_database(connection)  # type: ignore[arg-type]
    assert connection.asked == ["1"] + ["database"] * (not exists)
