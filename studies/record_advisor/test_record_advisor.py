"""The quick form of the advisor: one short search, its claims and its choice."""

from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestRecordAdvisor(QuickForm, ClaimRows):
    """The quick form ends with its claims."""


def test_the_choice_is_a_node_that_was_searched(quick: QuickRun) -> None:
    (point,) = quick.points()
    values = {name: one["value"] for name, one in point["estimates"].items()}
    assert values["node_bytes"] >= 64 + 8
    assert values["index_bytes"] % 64 == 0
    assert 1 <= values["batch"] <= 64
    assert values["operation_s"] > 0.0


def test_the_notes_name_the_choice(quick: QuickRun) -> None:
    (point,) = quick.points()
    assert any("nodes of" in note and "an operation" in note for note in point["notes"])
