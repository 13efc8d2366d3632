"""The check of a device runs to its claims, its model is fitted to it, and nothing is left."""

from typing import Any

import pytest

from headroom.systems.storage.workloads.sizes import parse_bytes
from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestQuickForm(QuickForm, ClaimRows):
    """What every study has to do."""


def test_the_models_are_fitted_to_the_sweeps_alone(quick: QuickRun) -> None:
    swept = {"depths", "sizes", "sparse"}
    sources = {"foreseen": swept, "foreseen_most": swept, "foreseen_files": {"files"}}
    for name, expected in sources.items():
        assert set(quick.experiment(name)["fit"]["sources"]) == expected
        assert quick.experiment(name)["column"] == "model"


def test_a_sync_policy_that_was_foreseen_has_figures(
    quick: QuickRun,
) -> None:
    experiment = quick.experiment("foreseen_files")
    if experiment["fit"]["state"] == "fitted":
        runs_s = [point["estimates"]["run_s"]["value"] for point in experiment["points"]]
        assert len(runs_s) == 2
        assert min(runs_s) > 0.0


def test_the_open_load_is_half_of_the_maximum(quick: QuickRun) -> None:
    """Oracle: what arrived per second is what the share of the maximum asks for."""
    reads = [
        at_depth["estimates"]["throughput"]["value"]
        for at_depth in quick.experiment("depths")["points"]
        if at_depth["levels"]["read_share"] == 1.0 and at_depth["estimates"]
    ]
    (point,) = quick.experiment("open")["points"]
    if len(reads) == 4 and point["estimates"]:
        rate = point["estimates"]["throughput"]["value"] + 0.0
        # Poisson arrivals of some thousand requests; a busy machine answers fewer of them.
        assert rate == pytest.approx(0.5 * max(reads), rel=0.3)


def test_the_ramp_is_of_shares_of_what_was_carried_at_most(quick: QuickRun) -> None:
    """Oracle: full load is what was carried, in whole units of 50 requests per second."""
    (most,) = quick.experiment("most")["points"]
    if not most["estimates"]:
        return
    per_s = most["estimates"]["throughput"]["value"]
    (chosen,) = quick.experiment("ramp")["fit"]["sets"]
    (bsus,) = (parameter["value"] for parameter in chosen["parameters"])
    assert 50 * bsus <= per_s < 50 * (bsus + 1)
    for point in quick.experiment("ramp")["points"]:
        if point["estimates"]:
            rate = point["estimates"]["throughput"]["value"]
            assert rate == pytest.approx(point["levels"]["load_share"] * per_s, rel=0.2)
    if quick.experiment("foreseen")["fit"]["state"] == "fitted":
        (taken,) = quick.experiment("foreseen")["fit"]["sets"]
        assert taken["taken"] == {"bsus": bsus}


def test_what_is_carried_at_most_is_foreseen_with_figures(quick: QuickRun) -> None:
    """Cause: a warm-up of a second was longer than the run from 40,000 requests per second on."""
    (point,) = quick.experiment("foreseen_most")["points"]
    if quick.experiment("foreseen_most")["fit"]["state"] == "fitted":
        assert point["estimates"]["throughput"]["value"] > 0.0


def test_the_claims_about_the_model_are_about_the_same_load(study: dict[str, Any]) -> None:
    content = {experiment["name"]: experiment for experiment in study["experiment"]}
    for measured, foreseen in (("most", "foreseen_most"), ("ramp", "foreseen")):
        real, model = content[measured], content[foreseen]
        assert model["seeds_of"] == model["fit"]["load_of"] == measured
        for claimed, other in ((real, model), (real["quick"], model["quick"])):
            assert claimed.get("factors") == other.get("factors")
            size = parse_bytes(claimed["system"]["targets"]["device"]["bytes"])
            assert other["fixed"]["target_bytes"] == size


def test_what_is_foreseen_of_files_is_not_what_was_fitted(study: dict[str, Any]) -> None:
    content = {experiment["name"]: experiment for experiment in study["experiment"]}
    swept, measured, foreseen = (content[name] for name in ("files", "postmark", "foreseen_files"))
    assert foreseen["seeds_of"] == "postmark"
    for claimed, other in ((measured, foreseen), (measured["quick"], foreseen["quick"])):
        same = {name: value for name, value in claimed["fixed"].items() if name != "workload"}
        assert same == other["fixed"]
    for claimed, other in ((swept, measured), (swept["quick"], measured["quick"])):
        for name in ("postmark_files", "postmark_transactions", "postmark_bias_read"):
            assert claimed["fixed"].get(name) != other["fixed"][name]
