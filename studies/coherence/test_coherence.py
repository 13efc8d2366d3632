"""The study of coherence protocols: its quick form."""

from headroom.systems.shared_memory.checker.system import conditions
from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestCoherence(QuickForm, ClaimRows):
    """The quick form ends with its claims."""

    def test_all_claims_hold(self, quick: QuickRun) -> None:
        """A search is exact: no machine and no seed decides it."""
        left_out = {"sci-needs-tail-first"}
        verdicts = quick.verdicts()
        assert {verdicts[name] for name in verdicts.keys() - left_out} == {"holds"}

    def test_each_violation_has_a_note(self, quick: QuickRun) -> None:
        """The note says after how many events which rule is broken."""
        for point in quick.experiment("sci-conditions")["points"]:
            assert any(note.startswith("after ") for note in point["notes"])


def test_the_study_leaves_out_each_condition(study: dict[str, object]) -> None:
    experiments = study["experiment"]
    assert isinstance(experiments, list)
    listed: dict[str, list[str]] = {"sci": [], "directory": []}
    for one in experiments:
        if "without" in one["factors"]:
            listed[one["fixed"]["protocol"]] += one["factors"]["without"]
    assert {name: sorted(names) for name, names in listed.items()} == {
        name: sorted(conditions(name)) for name in listed
    }
