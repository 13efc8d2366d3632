"""The quick form of the advisor: short searches of two layouts, its claims and its choices."""

from headroom.quantities import format_quantity
from headroom.systems.records.advisor.configurations import INDEXES, NODES
from headroom.systems.records.advisor.timing import BATCHES
from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestRecordAdvisor(QuickForm, ClaimRows):
    """The quick form ends with its claims."""


def test_every_choice_is_one_that_was_searched(quick: QuickRun) -> None:
    for point in quick.points():
        values = {name: one["value"] for name, one in point["estimates"].items()}
        assert values["chosen_node_bytes"] in NODES
        assert values["chosen_index_bytes"] in INDEXES
        assert values["chosen_batch"] in BATCHES
        assert values["operation_s"] > 0.0
        assert values["memory_share"] + values["tlbs_share"] <= 1.0


def test_the_notes_name_choices_of_the_layout(quick: QuickRun) -> None:
    for point in quick.points():
        named = [note for note in point["notes"] if note.startswith("chose ")]
        assert named
        assert all(note.startswith(f"chose {point['levels']['layout']} nodes") for note in named)


def test_the_table_has_settings_as_a_user_makes_them(quick: QuickRun) -> None:
    """Cause: it printed medians such as 4.096 kB and 64.00, which are no configuration."""
    for point in quick.points():
        sizes = [point["estimates"][f"chosen_{name}_bytes"] for name in ("node", "index")]
        texts = [format_quantity(one["value"], "B", metric="chosen_bytes") for one in sizes]
        chose = f"nodes of {texts[0]}, index nodes of {texts[1]}"
        assert any(chose in note for note in point["notes"])
        assert all(one.get("low") is None for one in sizes)
