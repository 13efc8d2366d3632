"""The tables of the document support its claims."""

import pytest

from headroom.solvers.evidence import as_text, known_table, main


def test_every_known_answer_is_reproduced() -> None:
    head, *rows = known_table()
    assert len(rows) > 35
    assert [row for row in rows if row[head.index("agrees")] != "yes"] == []


def test_a_wrong_question_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["everything"])
    assert caught.value.code == 2
    assert "known|errors" in capsys.readouterr().err


def test_columns_are_aligned() -> None:
    assert as_text([["a", "bb"], ["ccc", "d"]]) == "a    bb\nccc  d\n"
