"""The system `coherence`, as a study uses it."""

from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.systems.shared_memory.checker.system import Coherence, CoherenceSetup, conditions


def run(**config: Value) -> Run:
    system = Coherence.load(CoherenceSetup(), base=Path())
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    return system.run({**defaults, "home_processor": False, **config}, seed=1)


@pytest.mark.parametrize("protocol", ["sci", "directory", "uncached"])
def test_a_whole_protocol_breaks_no_rule(protocol: str) -> None:
    found = run(protocol=protocol, caches=2)
    assert found.is_sound
    assert found.values["violations"] == found.values["path_events"] == 0.0
    assert found.values["states"] > 5.0
    assert found.artefacts == ()


def test_a_protocol_without_a_condition_leaves_the_chart_of_the_shortest_way() -> None:
    found = run(protocol="directory", caches=2, without="invalidate_sharers")
    assert found.is_sound, "a violation is a result"
    assert found.values["violations"] == 1.0
    (chart,) = found.artefacts
    rows = chart.text().splitlines()
    assert rows[0].split() == ["home", "cache", "0", "cache", "1"]
    numbers = [row.split()[0] for row in rows if row[:1].isdigit()]
    assert numbers == [str(one) for one in range(1, int(found.values["path_events"]) + 1)]
    assert rows[-1] in found.notes[0]


def test_a_search_that_gives_up_is_a_fault_with_a_cure() -> None:
    found = run(protocol="sci", most_states=100)
    assert "raise most_states" in found.faults[0]


def test_conditions_have_names_and_sentences() -> None:
    for protocol in ("sci", "directory"):
        assert len(conditions(protocol)) >= 10
        assert all(name.islower() and " " in text for name, text in conditions(protocol).items())
    assert conditions("uncached") == {}


def test_wrong_levels_are_refused_with_those_that_exist() -> None:
    with pytest.raises(StudyError, match=r"no condition of sci") as refused:
        run(protocol="sci", without="luck")
    assert "tail_first" in str(refused.value.cure)
    with pytest.raises(StudyError, match="no snoop filter"):
        run(protocol="sci", entries=1)
