"""Parameters of storage workloads: declared once, and rejected where they do not belong."""

import msgspec
import pytest

from headroom.errors import StudyError
from headroom.systems.storage import native
from headroom.systems.storage.workloads.workload_checks import check_workload
from headroom.systems.storage.workloads.workload_parameters import (
    WORKLOADS,
    workload_parameters,
)
from headroom.systems.storage.workloads.workload_table import workload_table, writes


def _config(**given: object) -> dict[str, object]:
    defaults = {parameter.name: parameter.default for parameter in workload_parameters()}
    return {"workload": "micro", **defaults, **given}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload_takes_its_own_parameters_and_refuses_those_of_others(workload: str) -> None:
    own = {parameter.name for parameter in workload_parameters(workload)}
    for parameter in workload_parameters():
        if parameter.type == "str" or parameter.name in own:
            continue
        other = parameter.high if parameter.default != parameter.high else parameter.low
        config = _config(workload=workload, **{parameter.name: other})
        with pytest.raises(StudyError, match=f"'{parameter.name}' is set, but the workload"):
            check_workload(config)  # type: ignore[arg-type]  # values of tests


@pytest.mark.parametrize("workload", WORKLOADS)
def test_defaults_are_a_workload_that_can_run(workload: str) -> None:
    check_workload(_config(workload=workload, trace_file="t" if workload == "trace" else ""))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rate": 5.0}, "means nothing with load = 'closed'"),
        ({"load": "open", "gap_c2": 2.0}, "means nothing with law = 'poisson'"),
        ({"load": "open", "law": "ramp", "pulse_requests": 2}, "means nothing with law = 'ramp'"),
        ({"zipf_exponent": 1.5}, "no request has the pattern 'zipf'"),
        ({"sync_every": 4}, "means nothing with sync = 'never'"),
        ({"sync": "fsync"}, "no request writes"),
        ({"sync": "fsync", "read_share": 0.5, "trim_share": 0.5}, "no request writes"),
        ({"workload": "spc2_like", "sync": "fsync"}, "no request writes"),
        ({"workload": "spc2_like", "spc2_part": "vod", "depth": 2}, "means nothing with spc2_part"),
        ({"workload": "trace", "trace_file": "t", "depth": 2}, "means nothing with trace_timing"),
        ({"workload": "trace", "trace_file": "t", "streams": 2}, "means nothing with workload"),
        ({"workload": "snia_like", "classes": "kind"}, "means nothing with workload"),
        ({"workload": "postmark", "interface": "threads"}, "PostMark makes plain calls"),
        ({"workload": "postmark", "direct": "yes"}, "PostMark makes plain calls"),
        ({"workload": "postmark", "postmark_low_bytes": 20_000}, "above postmark_high_bytes"),
        ({"seconds": 0.0}, "would never end"),
        ({"workload": "trace"}, "has no trace"),
    ],
)
def test_values_that_mean_nothing_are_refused_with_a_cure(
    given: dict[str, object], words: str
) -> None:
    with pytest.raises(StudyError, match=words) as caught:
        check_workload(_config(**given))  # type: ignore[arg-type]
    assert caught.value.cure


@pytest.mark.parametrize(
    "given",
    [
        {"depth": 8},
        {"sync": "fsync", "read_share": 0.5},
        {"workload": "spc1_like", "sync": "fsync"},
        {"workload": "spc2_like", "depth": 2, "streams": 3},
        {"workload": "trace", "trace_file": "t", "depth": 2, "trace_timing": "as_fast"},
        {"workload": "trace", "trace_file": "t", "sync": "fsync"},
        {"workload": "snia_like", "depth": 2, "streams": 3},
    ],
)
def test_values_that_mean_something_are_taken(given: dict[str, object]) -> None:
    check_workload(_config(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"read_share": 1.0},
        {"read_share": 0.99},
        {"read_share": 0.9, "trim_share": 0.1},
        {"workload": "spc1_like"},
        {"workload": "spc2_like", "spc2_part": "lfp", "spc2_phase": "read_only"},
        {"workload": "spc2_like", "spc2_part": "lfp", "spc2_phase": "write_only"},
        {"workload": "spc2_like", "spc2_part": "lfp", "spc2_phase": "read_write"},
        {"workload": "spc2_like", "spc2_part": "ldq"},
        {"workload": "spc2_like", "spc2_part": "vod"},
    ],
    ids=lambda given: "-".join(map(str, given.values())),
)
def test_a_workload_counts_as_writing_just_when_it_has_a_request_that_changes_data(
    given: dict[str, object],
) -> None:
    """Oracle: the requests themselves. A large query writes one block in a hundred."""
    config = _config(**given)
    size = 1 << 30
    table = workload_table(config, target_bytes=size)  # type: ignore[arg-type]
    requests = native.requests(
        workload=msgspec.json.encode(table), seed=1, target_bytes=size, count=5000
    )
    assert bool((requests["kind"] != 0).any()) is writes(config)  # type: ignore[arg-type]
