"""The first caution reports a disturbed machine, with the share of replications concerned."""

from headroom.analysis.results import Disturbance, ExperimentResult, PointResult
from headroom.report.notes.measuring import disturbance_cautions, disturbance_sentences
from headroom.report.notes.remarks import page_remarks
from headroom.report.summary import find

STEAL = Disturbance(kind="steal", share=0.12, replications=[0, 4])
OTHERS = Disturbance(kind="others", share=0.5, replications=[4, 5])


def experiment(*points: PointResult) -> ExperimentResult:
    return ExperimentResult(
        name="e", title="", system="command", column="measure", factors=[], responses=[],
        points=list(points),
    )  # fmt: skip


def point(key: str, *found: Disturbance) -> PointResult:
    return PointResult(key=key, levels={}, done=10, failed=0, disturbances=list(found))


def test_a_replication_with_two_disturbances_counts_once() -> None:
    assert disturbance_cautions(point("a", STEAL, OTHERS)) == [
        "3 of 10 replications disturbed: the host took up to 12% of the processor time and other "
        "programs used up to 50% of the processors."
    ]


def test_the_share_of_all_replications_is_said_first_and_beside_the_figures() -> None:
    found = experiment(point("a", STEAL), point("b", OTHERS), point("c"))
    (said,) = disturbance_sentences(found)
    assert said.startswith(
        "4 of 30 replications (13%) ran on a disturbed machine, at 2 of 3 points"
    )
    first, second = find(found)[:2]
    assert said in (first.text, second.text)
    assert page_remarks(found.points[0])[0].startswith("Caution: 2 of 10 replications disturbed")


def test_an_undisturbed_machine_is_not_mentioned() -> None:
    assert disturbance_sentences(experiment(point("a"))) == []
    assert disturbance_cautions(point("a")) == []
