"""The study runs to its claims here, and its models say of table 1 what README.md says."""

from typing import Any

import pytest

from headroom.systems.storage.devices.models.calibrate import PUBLISHED, RUNS, Row
from studies.quick_form import ClaimRows, QuickForm, QuickRun

OF_THE_TABLE = {
    "mean": "mean",
    "stdev": "deviation",
    "median": "median",
    "min": "least",
    "max": "most",
    "mean-deviation": "absolute_deviation",
}
DEVICES = {"ngs": "NGS", "eva": "EVA4400"}


class TestQuickForm(QuickForm, ClaimRows):
    """What every study has to do."""


def test_the_models_settle_what_few_runs_can_settle(quick: QuickRun) -> None:
    """Simulations have fixed seeds, so these verdicts are the same on every machine.

    How runs on NGS scatter is left out: six runs need not have one of the first among them.
    """
    verdicts = quick.verdicts()
    for name in ("model-ngs-mean", "model-ngs-median"):
        assert verdicts[name] == "holds", name
    for name in ("model-ngs-min", "model-ngs-max", "model-eva-min", "model-eva-max"):
        assert verdicts[name] == "undecided", name
    for name in ("model-eva-mean", "model-eva-median", "model-mean-ratio", "model-warm-up"):
        assert verdicts[name] != "differs", name


def test_the_targets_stand_side_by_side_in_every_block(
    quick: QuickRun, study: dict[str, Any]
) -> None:
    assert quick.experiment("postmark")["compared"]
    assert {experiment["name"] for experiment in quick.results["experiments"]} == {
        experiment["name"]
        for experiment in study["experiment"]
        if not experiment.get("quick", {}).get("skip")
    }


def test_the_claimed_numbers_are_those_of_table_1(study: dict[str, Any]) -> None:
    """Table 1 is in milliseconds, metrics are in seconds."""
    claims = {claim["name"]: claim for claim in study["claim"]}
    for short, device in DEVICES.items():
        row: Row = PUBLISHED[device]
        for words, field in OF_THE_TABLE.items():
            claim = claims[f"model-{short}-{words}"]
            assert claim["value"] * 1e3 == pytest.approx(getattr(row, field))
            assert claim["where"] == {"device": device}
            if words in {"min", "max"}:
                assert claim["extreme_of"] == RUNS[device]
                assert claim["tolerance_absolute"] * 1e3 == pytest.approx(row.deviation)
