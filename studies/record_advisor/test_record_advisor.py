"""The quick form of the advisor: short searches of two layouts, its claims and its choices."""

from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestRecordAdvisor(QuickForm, ClaimRows):
    """The quick form ends with its claims."""


def test_every_choice_is_one_that_was_searched(quick: QuickRun) -> None:
    for point in quick.points():
        values = {name: one["value"] for name, one in point["estimates"].items()}
        assert values["node_bytes"] >= 64 + 8
        assert values["index_bytes"] >= 64
        assert 1 <= values["batch"] <= 64
        assert values["operation_s"] > 0.0
        assert values["memory_share"] + values["tlbs_share"] <= 1.0


def test_the_notes_name_choices_of_the_layout(quick: QuickRun) -> None:
    for point in quick.points():
        named = [note for note in point["notes"] if "an operation" in note]
        assert named
        assert all(note.lower().startswith(point["levels"]["layout"]) for note in named)
