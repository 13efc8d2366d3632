"""The stored form of a study is complete and free of repetition."""

import msgspec

from headroom.analysis.results import Estimate, Margin, StudyResult
from headroom.analysis.stored_form import StoredEstimate, StoredStudy, read_form, stored_form
from tests.support.example_results import (
    failing_experiment,
    large_study,
    measured_experiment,
    model_experiment,
    study,
)


def written(result: StudyResult) -> bytes:
    return msgspec.json.encode(stored_form(result))


def read(content: bytes) -> StudyResult:
    return read_form(msgspec.json.decode(content, type=StoredStudy))


def test_what_is_written_is_read_back_whole() -> None:
    result = study(model_experiment(), measured_experiment(), failing_experiment())
    assert read(written(result)) == result


def test_a_prediction_keeps_the_error_of_its_method() -> None:
    result = study(model_experiment())
    point = result.experiments[0].points[0]
    margin = Margin(
        run_low=1.0, run_high=2.0, fit_below=0.1, fit_above=None,
        method_below=0.2, method_above=0.3, degrees=5.0,
    )  # fmt: skip
    predicted = {
        name: msgspec.structs.replace(one, margin=margin) for name, one in point.estimates.items()
    }
    points = [msgspec.structs.replace(point, estimates=predicted)]
    experiment = msgspec.structs.replace(result.experiments[0], points=points)
    result = msgspec.structs.replace(result, experiments=[experiment])
    assert read(written(result)) == result


def test_an_estimate_is_written_with_every_field_that_it_has() -> None:
    assert {*StoredEstimate.__struct_fields__, "metric"} == {*Estimate.__struct_fields__}


def test_what_a_metric_is_stands_once_however_many_points_have_it() -> None:
    result = large_study(200)
    stored = msgspec.json.decode(written(result))["experiments"][0]
    estimates = [one for point in stored["points"] for one in point["estimates"].values()]
    assert not any({"metric", "unit", "better"} & estimate.keys() for estimate in estimates)
    assert stored["metrics"]["throughput"]["better"] == "high"
    plain = len(msgspec.json.encode([point.estimates for point in result.experiments[0].points]))
    assert (
        len(msgspec.json.encode([point["estimates"] for point in stored["points"]])) < 0.6 * plain
    )
