"""Laws and arrivals of JMT: each is the law that its formula says, in any unit."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headroom.jmt import read_jsimg
from headroom.jmt.laws_in import arrivals_in_units, in_units
from headroom.jmt.laws_out import jmt_law
from headroom.simulation import (
    Distribution,
    Model,
    constant,
    coxian,
    erlang,
    expected_visits,
    exponential,
    gamma,
    lognormal,
    mixture,
    mmpp,
    normal,
    offered_loads,
    pareto,
    replay,
    uniform,
    weibull,
)
from tests.support import jmt_files as jmt


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Model]:
    """Return a reader of one queue with a service law, behind a source."""

    def reading(law: str, arrivals: str = jmt.exponential(1e-9), **more: str) -> Model:
        parts = [jmt.opened("jobs"), jmt.source("Source", {"jobs": arrivals})]
        parts += [jmt.queue("cpu", {"jobs": law}), jmt.sink()]
        path = tmp_path / "model.jsimg"
        text = jmt.archive(*parts, ways="Source > cpu > Sink", **more)
        path.write_text(text, encoding="latin-1")
        return read_jsimg(path)

    return reading


def matrix(name: str, *rows: tuple[float, ...]) -> str:
    """Return a parameter that is a matrix."""
    lines = (
        jmt.sub("[D", "".join(jmt.sub("java.lang.Double", value=cell) for cell in row), "vector")
        for row in rows
    )
    return jmt.sub("[[D", "".join(lines), name)


def of_matrices(kind: str, *parts: str) -> str:
    """Return a strategy whose law has matrices."""
    inside = jmt.sub(f"jmt.engine.random.{kind}Distr", name=kind)
    inside += jmt.sub(f"jmt.engine.random.{kind}Par", "".join(parts), "distrPar")
    return jmt.sub(f"{jmt.NET}.ServiceStrategies.ServiceTimeStrategy", inside)


PHASES = matrix("T", (-2.0, 1.0, 0.0), (0.0, -4.0, 4.0), (0.0, 0.0, -5.0))
LAWS = {
    "exponential": (jmt.exponential(4), exponential(0.25)),
    "deterministic": (jmt.law("DeterministicDistr", t=3), constant(3)),
    "uniform": (jmt.law("Uniform", min=2, max=5), uniform(2, 5)),
    "erlang": (jmt.law("Erlang", alpha=2, r=3), erlang(1.5, 3)),
    "gamma": (jmt.law("GammaDistr", alpha=4, beta=2), gamma(8, 0.25)),
    "gamma of old": (jmt.law("GammaDistr", alpha=4, lambda_=2), gamma(8, 0.25)),
    "lognormal": (
        jmt.law("Lognormal", mu=1, sigma=0.5),
        lognormal(math.exp(1.125), math.expm1(0.25)),
    ),
    "normal": (jmt.law("Normal", mean=9, standardDeviation=2), normal(9, 2)),
    "pareto": (jmt.law("Pareto", alpha=3, k=2), pareto(2, 3)),
    "weibull": (jmt.law("Weibull", alpha=3, r=2), weibull(3, 2)),
    "coxian": (
        jmt.law("CoxianDistr", lambda0=2, lambda1=4, phi0=0.25),
        coxian([0.5, 0.25], [0.75]),
    ),
    "phases": (of_matrices("PhaseType", matrix("alpha", (1.0, 0.0, 0.0)), PHASES),
               coxian([0.5, 0.25, 0.2], [0.5, 1.0])),
    "phases from two": (of_matrices("PhaseType", matrix("alpha", (0.25, 0.0, 0.75)), PHASES),
                        mixture([coxian([0.5, 0.25, 0.2], [0.5, 1.0]), exponential(0.2)],
                                [0.25, 0.75])),
    "phases that end early": (
        of_matrices("PhaseType", matrix("alpha", (1.0, 0.0)),
                    matrix("T", (-2.0, 0.0), (0.0, -1.0))),
        exponential(0.5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", LAWS)
def test_each_law_has_the_parameters_of_its_formula(kind: str, read: Callable[..., Model]) -> None:
    text, expected = LAWS[kind]
    (step,) = read(text).programs["jobs"].steps
    found = step.amounts["service"]
    assert isinstance(found, Distribution)
    assert found.kind == expected.kind
    assert (found.mean, found.c2) == pytest.approx((expected.mean, expected.c2))
    if kind != "lognormal":
        assert found == expected


@pytest.mark.parametrize("units", [1.0, 2.0, 1e3, 1e-2])
@pytest.mark.parametrize(
    "law", [*(law for _, law in LAWS.values()), replay([1.0, 2.0, 6.0])], ids=str
)
def test_a_law_in_other_units_has_its_mean_scaled_and_its_shape_kept(
    law: Distribution, units: float
) -> None:
    found = in_units(law, units)
    assert found.kind == law.kind
    assert found.mean == pytest.approx(law.mean * units)
    assert found.c2 == pytest.approx(law.c2)


@pytest.mark.parametrize(
    ("law", "names"),
    [
        (exponential(0.5), ("Exponential", "Exponential", "ExponentialPar")),
        (constant(2), ("DeterministicDistr", "Deterministic", "DeterministicDistrPar")),
        (gamma(8, 0.25), ("GammaDistr", "Gamma", "GammaDistrPar")),
        (coxian([0.5, 0.25], [0.75]), ("CoxianDistr", "Coxian", "CoxianPar")),
        (erlang(1.5, 3), ("Erlang", "Erlang", "ErlangPar")),
    ],
)
def test_a_law_is_written_under_the_names_by_which_jmt_knows_it(
    law: Distribution, names: tuple[str, str, str]
) -> None:
    found = jmt_law(law, 1.0, "")
    assert (found.java_class, found.name, found.parameter_class) == names


def test_rates_per_second_are_divided_by_the_units_of_a_second() -> None:
    process = mmpp(rates=[2.0, 0.5], switch_rates=[[0.0, 0.1], [0.2, 0.0]])
    assert arrivals_in_units(process, 1000.0) == mmpp(
        rates=[2e-3, 5e-4], switch_rates=[[0.0, 1e-4], [2e-4, 0.0]]
    )


MAP = of_matrices(
    "MAP", matrix("D0", (-3.0, 1.0), (2.0, -7.0)), matrix("D1", (2.0, 0.0), (0.0, 5.0))
)


@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("bursts", [True, False])
def test_short_times_are_read_in_a_unit_in_which_they_are_not(
    read: Callable[..., Model], scale: float, *, bursts: bool
) -> None:
    """Cause: rates of arrivals in bursts may be wrong by the square of the units unnoticed."""
    burst = jmt.law(
        "MMPP2Distr", "MMPP2Par", lambda0=2 * scale, lambda1=scale, sigma0=scale, sigma1=scale
    )
    arrivals = burst if bursts else jmt.exponential(1.5 * scale)
    model = read(jmt.exponential(4 * scale), arrivals, attributes='maxSimulated="60"')
    unit_s = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[model.time_unit]
    assert (scale == 1.0) == (unit_s == 1.0)
    visits = expected_visits(model)
    assert visits.demands["jobs"]["cpu"] * unit_s == pytest.approx(0.25 / scale)
    assert model.stop_time is not None
    assert model.stop_time * unit_s == pytest.approx(60.0)
    (load,) = offered_loads(model).values()
    assert load == pytest.approx(1.5 / 4)
    if bursts:
        process = model.classes["jobs"].process
        assert process is not None
        given: dict[str, Any] = dict(process.parameters)
        assert given["switch_rates"][0][1] == pytest.approx(scale * unit_s)


def test_a_markovian_process_whose_arrivals_change_no_state_is_an_mmpp(
    read: Callable[..., Model],
) -> None:
    found = read(jmt.exponential(9), MAP).classes["jobs"].process
    assert found == mmpp(rates=[2.0, 5.0], switch_rates=[[0.0, 1.0], [2.0, 0.0]])
