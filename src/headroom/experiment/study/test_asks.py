"""Asks are checked as the rest of a study is, and prose that asks for something else is told."""

from pathlib import Path
from typing import get_args
from unittest.mock import patch

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol import registry
from headroom.experiment.study.asks import Ask, AskKind, disagreement
from headroom.experiment.study.checks.ask_checks import doubtful_asks
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from tests.support.fake_systems import fake_entries

STUDY = """\
schema = 1
name = "web"
{head}
seed = 1

[[ask]]
{ask}

[[experiment]]
name = "load"
system = {{ name = "fake-model" }}
replications = {{ count = 3 }}

[experiment.factors]
users = [1, 2]
mode = ["plain", "faulty"]

[[experiment.derived]]
name = "gain"
of = "throughput"
ratio_to = {{ mode = "plain" }}
"""


def planned(folder: Path, ask: str, head: str = 'title = "Web"') -> object:
    (folder / "study.toml").write_text(STUDY.format(ask=ask, head=head), encoding="utf-8")
    with patch.object(registry, "registered", fake_entries):
        return make_plan(load_study(folder), quick=False)


@pytest.mark.parametrize(
    "ask",
    [
        'kind = "enough"\nfactor = "users"\nmetric = "throughput"',
        'kind = "effect"\nmetric = "gain"\nwhere = { mode = "faulty" }',
        'kind = "effect"\nof = { mode = "faulty" }\nto = { mode = "plain" }',
        'kind = "value"\nalso = ["throughput"]',
    ],
)
def test_an_ask_that_names_what_is_there_is_accepted(tmp_path: Path, ask: str) -> None:
    planned(tmp_path, ask)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ('kind = "enuogh"', "unknown kind"),
        ('kind = "enough"\nexperiment = "laod"', "unknown experiment 'laod'"),
        ('kind = "enough"\nmetric = "thruput"', "no metric 'thruput'"),
        ('kind = "enough"\nfactor = "user"', "no factor 'user'"),
        ('kind = "value"\nwhere = { user = 1 }', "no factor 'user'"),
        ('kind = "safe"\nof = "stats"', "no metric 'stats'"),
        ('kind = "safe"\nby = "fault"', "no factor 'fault'"),
        ('kind = "effect"\nof = { mode = "plain" }', "one of them is missing"),
        ('kind = "best"\nshare = 0.9', "unknown key"),
    ],
)
def test_an_ask_that_names_nothing_is_refused_with_its_line(
    tmp_path: Path, ask: str, words: str
) -> None:
    with pytest.raises(StudyError, match=words) as caught:
        planned(tmp_path, ask)
    assert "study.toml:" in caught.value.message
    assert caught.value.cure


def test_a_direction_of_no_factor_is_refused(tmp_path: Path) -> None:
    head = 'title = "Web"\ndirections = { users = "load", usres = "load" }'
    with pytest.raises(StudyError, match="no factor 'usres'") as caught:
        planned(tmp_path, 'kind = "best"', head)
    assert "did you mean 'users'" in caught.value.cure


def test_the_title_is_the_question_where_none_is_given(tmp_path: Path) -> None:
    ask = 'kind = "value"\nquestion = "How many a second?"'
    planned(tmp_path, ask, head="")
    assert load_study(tmp_path).study.heading == "How many a second?"


@pytest.mark.parametrize(
    ("question", "kind", "is_told"),
    [
        ("How many disks does it need?", "enough", False),
        ("How many disks does it need?", "effect", True),
        ("How many calls a second?", "value", False),
        ("Which node size suits these records?", "best", False),
        ("Which node size suits these records?", "value", True),
        ("How long does sorting take?", "value", False),
        ("How long does sorting take?", "limit", True),
        ("Is anything lost?", "safe", False),
        ("Is anything lost?", "value", True),
        ("Anything at all?", "scale", False),
    ],
)
def test_prose_that_asks_for_another_kind_is_told(
    question: str, kind: AskKind, *, is_told: bool
) -> None:
    assert bool(disagreement(question, kind)) == is_told


def test_the_prose_of_a_study_is_that_of_its_first_ask(tmp_path: Path) -> None:
    planned(tmp_path, 'kind = "effect"\nmetric = "gain"', 'title = "How many users?"')
    (warning,) = doubtful_asks(load_study(tmp_path).study)
    assert "'How many users?'" in warning
    assert "`effect`" in warning


def test_every_kind_has_a_struct_of_its_own() -> None:
    assert [one.__struct_config__.tag for one in get_args(Ask)] == list(get_args(AskKind))
