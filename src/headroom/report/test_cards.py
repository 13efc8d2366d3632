"""Cards of notebooks: what they say, that no text becomes markup, and that nothing is loaded."""

import re

import pytest

import headroom as hr
from headroom.analysis.results import Estimate as StoredEstimate
from headroom.report.cards import WIDTH_PX, estimate_card, model_card, result_card, text_card

EVIL = '<script>alert("1")</script>'


def stored(*, low: float | None = 0.9, high: float | None = 1.1) -> StoredEstimate:
    return StoredEstimate(
        metric="response_s_mean",
        unit="s",
        better="low",
        count=5,
        value=1.0,
        low=low,
        high=high,
        method="batch means" if low else "none",
        centre="mean",
        mean=1.0,
        median=1.0,
        stdev=0.1,
        minimum=0.9,
        maximum=1.1,
    )


@pytest.fixture(scope="module")
def sweep() -> hr.Sweep:
    return hr.simulate(
        "interactive",
        users=[10, 20, 30, 40],
        service_s=0.05,
        completions=500,
        replications=2,
        processes=1,
    )


def test_an_estimate_is_its_number_interval_runs_and_method() -> None:
    card = estimate_card(stored(), where="users = 5")
    assert "mean response time, users = 5" in card
    assert all(text in card for text in ("1.00 s", ">0.90 to 1.10<", "5 runs", "batch means"))
    assert "simulated" in card
    assert "no interval" in estimate_card(stored(low=None, high=None), is_simulated=False)
    assert "<circle" in estimate_card(stored(low=1.0, high=1.0))
    assert "interval without end" in estimate_card(stored(high=float("inf")))


def test_a_result_is_its_answer_a_small_figure_and_what_to_be_careful_of(sweep: hr.Sweep) -> None:
    card = result_card(sweep.data)
    (width,) = set(re.findall(r'class="figure[^"]*" [^>]*viewBox="0 0 (\d+)', card)) or {"300"}
    assert sweep.data.answer is not None
    assert "<b>" in card
    assert int(width) < WIDTH_PX
    assert "All 8 replications done" in card


@pytest.mark.parametrize(
    "card",
    [
        estimate_card(stored(), where=EVIL),
        text_card(EVIL, [EVIL, EVIL]),
        model_card(EVIL, hr.Model("x").to_data() | {"name": EVIL}, [EVIL]),
    ],
)
def test_names_never_become_markup(card: str) -> None:
    assert "<script" not in card
    assert "&lt;script&gt;" in card


def test_a_card_loads_nothing_runs_nothing_and_has_a_width(sweep: hr.Sweep) -> None:
    for card in (result_card(sweep.data), estimate_card(stored())):
        assert f"max-width:{WIDTH_PX}px" in card
        assert not re.search(r"<script|\bsrc=|url\(|@import|\bon\w+=", card)
        assert "color-scheme: light dark" in card


def test_models_show_their_picture_and_bound_also_before_they_are_complete() -> None:
    model = hr.Model("shop", time_unit="s")
    assert "no class" in str(model._repr_html_())
    visit = model.program("visit")
    visit.use(model.station("till"), hr.exponential(0.02))
    model.open_class("visits", visit, interarrival=hr.exponential(0.05))
    assert "Throughput at most 50 /s" in str(model._repr_html_())
