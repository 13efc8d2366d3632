"""PostMark on the models: properties of small runs, and agreement with the paper's table 1."""

import numpy as np
import pytest

from headroom.analysis.run.warm_up import mser
from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.simulation import SimulationResult, simulate
from headroom.systems.storage.devices.models import POSTMARK_EVA4400, POSTMARK_NGS
from headroom.systems.storage.devices.models.calibrate import (
    FITTED,
    PUBLISHED,
    RUNS,
    Fitted,
    Row,
    below_mean,
    bisected,
    times_ms,
    told,
)
from headroom.systems.storage.postmark.postmark_run import postmark_metrics

SMALL: dict[str, Value] = {
    "postmark_files": 500,
    "postmark_transactions": 4_000,
    "file_dirty_mib": 1.0,
}
FULL: dict[str, Value] = {**SMALL, "write_cache_mib": 2.0, "disks": 4, "raid_level": 0}


def total_s(result: SimulationResult) -> float:
    return float(result.snapshot_times_s[-1])


def completions(result: SimulationResult, station: str) -> float:
    at = result.stations.names.index(station)
    return float(result.stations.columns["completion_count"][-1, at])


def test_each_operation_takes_the_processor_once() -> None:
    run = simulate(POSTMARK_NGS(**SMALL), seed=1)
    # A transaction is two operations; a full file takes none of them away.
    count = completions(run, "processor")
    assert count == pytest.approx(500 + 2 * 4_000, rel=0.01)


def test_a_client_whose_cache_holds_all_is_as_fast_on_either_device() -> None:
    ample: dict[str, Value] = {**SMALL, "file_dirty_mib": 512.0, "commit_s": 0.0}
    ngs = total_s(simulate(POSTMARK_NGS(**ample), seed=1))
    eva = total_s(simulate(POSTMARK_EVA4400(**ample), seed=1))
    assert ngs == eva


def test_a_full_write_cache_makes_the_client_wait_for_disks() -> None:
    ngs = total_s(simulate(POSTMARK_NGS(**SMALL), seed=1))
    eva = total_s(simulate(POSTMARK_EVA4400(**FULL), seed=1))
    assert eva > 2 * ngs
    more_disks = total_s(simulate(POSTMARK_EVA4400(**{**FULL, "disks": 16}), seed=1))
    assert more_disks < eva


def test_what_an_earlier_run_left_makes_runs_differ() -> None:
    fresh: dict[str, Value] = {**FULL, "write_cache_mib": 6.0, "earlier_load_share": 0.0}
    used: dict[str, Value] = {**fresh, "earlier_load_share": 1.0}
    seeds = range(1, 9)
    spread = {
        name: Row.of(np.array([total_s(simulate(POSTMARK_EVA4400(**config), seed=seed))
                               for seed in seeds]))
        for name, config in (("fresh", fresh), ("used", used))
    }  # fmt: skip
    assert spread["used"].mean > spread["fresh"].mean


def test_a_run_is_a_function_of_model_and_seed() -> None:
    first, two, other = (
        total_s(simulate(POSTMARK_EVA4400(**FULL), seed=seed)) for seed in (1, 1, 2)
    )
    assert first == two != other


def test_files_that_find_no_room_are_refused_with_a_cure() -> None:
    with pytest.raises(StudyError, match="the files take") as refused:
        POSTMARK_NGS(capacity_gb=0.01)
    assert "postmark_files" in str(refused.value.cure)


def test_table_1_of_the_paper_has_the_ratios_that_its_text_claims() -> None:
    ngs, eva = PUBLISHED["NGS"], PUBLISHED["EVA4400"]
    assert ngs.mean / eva.mean == pytest.approx(0.7706, abs=2e-4)
    assert eva.absolute_deviation > 16 * ngs.absolute_deviation


@pytest.mark.deep
def test_the_models_meet_table_1_in_means_and_dispersion() -> None:
    """Few runs settle the means alone; how runs scatter is for the study and its intervals."""
    late: dict[str, Value] = {"earlier_runs_low": 4}
    ngs = Row.of(times_ms("NGS", range(1, 4), late))
    eva = Row.of(times_ms("EVA4400", range(1, 7)))
    assert ngs.mean == pytest.approx(PUBLISHED["NGS"].mean, rel=0.05)
    assert eva.mean == pytest.approx(PUBLISHED["EVA4400"].mean, rel=0.05)
    assert eva.absolute_deviation > 16 * ngs.absolute_deviation


def test_the_first_runs_on_a_file_system_make_no_checkpoint() -> None:
    """A journal of 1 MiB takes a part of what the first run writes; a later one pays for all."""
    journal: dict[str, Value] = {
        **SMALL,
        "journal_mib": 1,
        "checkpoint_share": 0.5,
        "commit_s": 0.0,
    }
    taken = [
        total_s(simulate(POSTMARK_NGS(**journal, earlier_runs_low=runs, earlier_runs_high=runs),
                         seed=1))
        for runs in (0, 2, 20)
    ]  # fmt: skip
    never = total_s(simulate(POSTMARK_NGS(**{**journal, "checkpoint_share": 0.0}), seed=1))
    assert taken[0] < taken[1] == pytest.approx(taken[2], rel=0.05)
    assert never <= taken[0]
    roomy = {**journal, "journal_mib": 1_000, "earlier_runs_low": 20, "earlier_runs_high": 20}
    assert total_s(simulate(POSTMARK_NGS(**roomy), seed=1)) == pytest.approx(never, rel=1e-3)


def test_what_a_commit_writes_reaches_the_device_and_the_client_works_on() -> None:
    ample: dict[str, Value] = {**SMALL, "file_dirty_mib": 512.0}
    never, often = (
        simulate(POSTMARK_NGS(**{**ample, "commit_s": every}), seed=1) for every in (0.0, 0.02)
    )
    assert completions(never, "ports") == 0
    assert completions(often, "ports") > 100
    assert total_s(often) == pytest.approx(total_s(never), rel=1e-3)


def test_rising_numbers_of_earlier_runs_are_asked_for() -> None:
    with pytest.raises(StudyError, match="earlier_runs_low is 5"):
        POSTMARK_NGS(earlier_runs_low=5, earlier_runs_high=4)


def test_the_digits_of_table_1_tell_how_many_runs_lie_below_their_mean() -> None:
    """Of all whole times with these statistics; brute force over small samples agrees."""
    assert below_mean(PUBLISHED["NGS"], RUNS["NGS"]) == [6]
    assert below_mean(PUBLISHED["EVA4400"], RUNS["EVA4400"]) == [8]
    random = np.random.default_rng(3)
    for _ in range(50):
        times = random.integers(1000, 1100, 8).astype(float)
        assert int((times < times.mean()).sum()) in below_mean(Row.of(times), 8)


def test_a_run_on_the_array_warms_up_and_the_rule_cuts_it() -> None:
    run = simulate(POSTMARK_EVA4400(), seed=2)
    # The first batch has the making of the files.
    times_s = run.series[0].values[1:]
    cut = mser(times_s)
    assert cut.is_steady
    assert 0.1 * times_s.size < cut.dropped < 0.5 * times_s.size
    warming, steady = times_s[: cut.dropped].mean(), times_s[cut.dropped :].mean()
    assert warming > 1.3 * steady


def test_what_is_printed_has_both_tables() -> None:
    lines = list(told(PUBLISHED))
    assert len(lines) == 1 + 4 + 2
    assert lines[-2].split()[-1] == "0.7707"


@pytest.mark.parametrize("one", FITTED, ids=lambda number: number.name)
def test_a_number_is_found_again_from_the_mean_that_it_gave(one: Fitted) -> None:
    truth = one.low + 0.3 * (one.high - one.low)
    sign = 1 if one.rises else -1
    number = bisected(lambda value: sign * value, sign * truth, one, steps=30)
    assert number == pytest.approx(truth)


def test_a_run_tells_its_time_and_its_warm_up_as_a_measured_one_does() -> None:
    model = POSTMARK_EVA4400
    run = simulate(model(**FULL), seed=1)
    own = model.own_values(run)
    assert (
        set(own)
        == {own_metric.name for own_metric in model.own_metrics}
        <= {postmark_metric.name for postmark_metric in postmark_metrics()}
    )
    assert own["run_s"] == total_s(run)
    # All that a client waits for is transactions, except for the making of files before them.
    assert own["run_s"] == pytest.approx(4_000 * run.series[0].values.mean(), rel=0.02)
