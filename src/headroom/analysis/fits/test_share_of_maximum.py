"""A load that is a share of the observed maximum."""

from types import SimpleNamespace

import pytest

from headroom.analysis.fits.share_of_maximum import ShareOfMaximum, ShareOptions
from headroom.experiment.protocol.fit_method import FitError, Observed, SourcePoint, Target
from headroom.experiment.protocol.system import Column, Parameter, ParameterType, Value


def seen(*values: float) -> list[SourcePoint]:
    return [
        SourcePoint(
            experiment="sweep",
            column=Column.MEASURE,
            levels={},
            config={},
            observed={"throughput": Observed(value=value)},
        )
        for value in values
    ]


def target(kind: ParameterType, *, start: Value = 1, is_replicate: bool = False) -> Target:
    declared = Parameter(name="rate", type=kind, unit="1/s", default=start, source="assumed",
                         description="Load")  # fmt: skip
    system = SimpleNamespace(parameters=lambda: (declared,))  # all that the method asks of it
    return Target(system=system, config={"rate": start}, is_replicate=is_replicate)  # type: ignore[arg-type]


def test_the_largest_value_counts() -> None:
    found = ShareOfMaximum().fit(
        seen(10.0, 400.0, 90.0), target("float"), ShareOptions(parameter="rate", share=0.5)
    )
    assert found.parameters[0].value == 200.0
    assert found.parameters[0].unit == "1/s"


def test_a_whole_number_is_rounded_down_and_stays_while_intervals_are_found() -> None:
    options = ShareOptions(parameter="rate", share=0.9, per=50.0)
    method = ShareOfMaximum()
    assert method.fit(seen(400.0), target("int"), options).parameters[0].value == 7
    again = target("int", start=7, is_replicate=True)
    assert method.fit(seen(100.0), again, options).parameters[0].value == 7


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (seen(), "no point of the sources has a throughput"),
        (seen(0.0), "above 0"),
        (seen(3.0), "less than one rate"),
    ],
)
def test_a_source_that_says_nothing_is_refused(points: list[SourcePoint], words: str) -> None:
    options = ShareOptions(parameter="rate", share=0.1)
    with pytest.raises(FitError, match=words):
        ShareOfMaximum().fit(points, target("int"), options)
