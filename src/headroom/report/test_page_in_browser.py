"""The page in a real browser: every figure drawn, nothing on the console, no network.

Needs Chromium. If it is missing, the tests are skipped with a hint, except in CI, where no test
is skipped.
"""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from headroom.analysis.results import StudyResult
from headroom.report.browser import CURE, Browser, Scheme, Visit, find_chromium, open_browser
from headroom.report.charts.test_latency_map import latency_experiment
from headroom.report.charts.test_over_time import over_time_experiment
from headroom.report.charts.test_sections import sections_experiment
from headroom.report.page import render_page
from tests.support.example_results import SHAPES, large_study, measured_experiment, study

pytestmark = pytest.mark.deep

SCHEMES: tuple[Scheme, ...] = ("light", "dark")
PAPER_PX = 700
PHONE_PX = 400


def browser_or_skip() -> None:
    """Skip the test that calls this where there is no Chromium."""
    if find_chromium() is None and os.environ.get("CI") != "true":
        pytest.skip(f"no Chromium: {CURE}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return one headless browser for all tests of this file."""
    browser_or_skip()
    with open_browser() as opened:
        yield opened


def _visit(
    browser: Browser,
    folder: Path,
    page: str,
    *,
    scheme: Scheme = "light",
    width: int = 1280,
    action: str = "",
    is_printed: bool = False,
    unfolds: bool = True,
) -> Visit:
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return browser.visit(
        path, scheme=scheme, width=width, action=action, is_printed=is_printed, unfolds=unfolds
    )


def _complaints(visit: Visit) -> list[str]:
    """Return everything that is wrong with a visited page."""
    figures = [
        f"{key}: {figure}"
        for key, figure in visit.figures.items()
        if figure["state"] != "drawn"
        or not figure["isThere"]
        or figure["isBroken"]
        or figure["marks"] < 1
    ]
    state = [f"state {visit.state['state']}"] if visit.state["state"] != "done" else []
    said = [visit.state["problems"]] if "problems" in visit.state else []
    wide = [f"{visit.overflow} px too wide"] if visit.overflow > 0 else []
    return [*figures, *state, *said, *wide, *visit.console, *visit.requests]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_figure_is_drawn_in_silence(
    browser: Browser, tmp_path: Path, shape: str, scheme: Scheme
) -> None:
    """No console message, no request, no unfinished figure, in both colour schemes."""
    page = render_page(SHAPES[shape])
    visit = _visit(browser, tmp_path, page, scheme=scheme)
    assert _complaints(visit) == []
    assert len(visit.figures) == page.count('class="chart drawings"')


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", PHONE_PX)])
def test_sections_of_layers_are_drawn(
    browser: Browser, tmp_path: Path, scheme: Scheme, width: int
) -> None:
    page = render_page(study(sections_experiment()))
    visit = _visit(browser, tmp_path, page, scheme=scheme, width=width)
    assert _complaints(visit) == []
    drawn = [key for key in visit.figures if "-section-" in key]
    assert len(drawn) == 3
    assert "is not shown: two rows have one label" in page


def test_a_large_page_is_drawn_in_silence(browser: Browser, tmp_path: Path) -> None:
    """The page names the points that it holds, and the script finds each."""
    page = render_page(large_study(2_000))
    visit = _visit(browser, tmp_path, page, scheme="light")
    assert _complaints(visit) == []
    assert len(visit.figures) == page.count('class="chart drawings"')


def test_a_link_to_what_is_folded_unfolds_it(browser: Browser, tmp_path: Path) -> None:
    action = """
    document.querySelector(".chips a").click();
    new Promise((resolve) => { setTimeout(() => {
      document.documentElement.dataset.open = document.getElementById("claims").open;
      resolve();
    }, 20); });
    """
    page = render_page(SHAPES["everything"])
    visit = _visit(browser, tmp_path, page, action=action, unfolds=False)
    assert visit.state["open"] == "true"


def test_a_phone_shows_the_whole_page(browser: Browser, tmp_path: Path) -> None:
    """Nothing but tables scrolls sideways, and those inside their own frame."""
    visit = _visit(browser, tmp_path, render_page(SHAPES["everything"]), width=PHONE_PX)
    assert _complaints(visit) == []


_CUT_TEXTS = """
document.documentElement.dataset.cut = JSON.stringify([...document.querySelectorAll('.chart svg')]
  .flatMap((picture) => {
    const frame = picture.getBoundingClientRect();
    const isCut = ({ left, right, width }) =>
      width > 0 && (right > frame.right + 1 || left < frame.left - 1);
    return [...picture.querySelectorAll('text')]
      .filter((text) => isCut(text.getBoundingClientRect()))
      .map((text) => text.textContent);
  }));
"""


@pytest.mark.parametrize("width", [360, PHONE_PX, 760, 1280])
def test_no_text_of_a_figure_is_cut_at_its_edge(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    """Cause: legends of one row, last numbers of axes and names of rows went beyond the picture."""
    page = render_page(SHAPES["everything"])
    visit = _visit(browser, tmp_path, page, width=width, action=_CUT_TEXTS)
    assert visit.state["cut"] == "[]"


def test_claims_are_read_on_a_phone_without_scrolling_sideways(
    browser: Browser, tmp_path: Path
) -> None:
    """Cause: what was found stood beyond the edge, next to tall rows of two words a line."""
    frame = "document.querySelector('.claims').parentElement"
    action = f"document.documentElement.dataset.cut = {frame}.scrollWidth - {frame}.clientWidth"
    page = render_page(SHAPES["everything"])
    visit = _visit(browser, tmp_path, page, width=PHONE_PX, action=action)
    assert visit.state["cut"] == "0"


def test_figures_drawn_for_a_screen_fit_the_paper(browser: Browser, tmp_path: Path) -> None:
    visit = _visit(
        browser,
        tmp_path,
        render_page(SHAPES["everything"]),
        action=f"document.body.style.width = '{PAPER_PX}px'",
        is_printed=True,
    )
    assert all(0 < figure["drawnWidth"] <= figure["width"] for figure in visit.figures.values())
    assert max(figure["width"] for figure in visit.figures.values()) < PAPER_PX


@pytest.mark.parametrize("broken", ["", "<svg></svg>", '<svg><path d="MNaN 1"/></svg>'])
def test_a_broken_figure_does_not_pass(browser: Browser, tmp_path: Path, broken: str) -> None:
    """The check itself can fail: no picture, no marks, or a place that is none are noticed."""
    page = render_page(SHAPES["numeric sweep"])
    changed = re.sub(r"(data-state=\"drawn\">)<svg.*?</svg>", rf"\1{broken}", page, count=1)
    assert changed != page
    assert _complaints(_visit(browser, tmp_path, changed)) != []


def test_without_a_script_every_figure_is_there(browser: Browser, tmp_path: Path) -> None:
    page = re.sub(r"<script>.*?</script>", "", render_page(SHAPES["everything"]), flags=re.S)
    path = tmp_path / "report.html"
    path.write_text(page.replace('data-state="static"', 'data-state="done"'), encoding="utf-8")
    visit = browser.visit(path, unfolds=True)
    assert _complaints(visit) == []
    assert all(figure["drawnWidth"] > 0 for figure in visit.figures.values())


@pytest.mark.parametrize(
    "level", ["b\u2028c", "d\u2029e", "</script>", "q\"u\\o'te", "${x} {{y}}", "line\nfeed"]
)
def test_a_level_of_any_signs_leaves_every_figure_whole(
    browser: Browser, tmp_path: Path, level: str
) -> None:
    """Cause: the signs of a level reached the language of a chart library."""
    text = msgspec.json.encode(study(measured_experiment())).decode()
    named = text.replace('"gzip"', msgspec.json.encode(level).decode())
    page = render_page(msgspec.json.decode(named, type=StudyResult))
    assert _complaints(_visit(browser, tmp_path, page)) == []


@pytest.mark.parametrize(
    "intruder",
    [
        "<img src='https://example.invalid/pixel.png'>",
        "<script>document.documentElement.dataset.taken = 'yes'</script>",
        "<script src='https://example.invalid/script.js'></script>",
    ],
)
def test_whatever_gets_into_the_page_neither_runs_nor_loads(
    browser: Browser, tmp_path: Path, intruder: str
) -> None:
    """Second line of defence behind the escaping: the policy of the page blocks it."""
    page = render_page(SHAPES["empty"]).replace("</main>", f"{intruder}</main>")
    visit = _visit(browser, tmp_path, page)
    assert any("Content Security Policy" in text for text in visit.console)
    assert "taken" not in visit.state
    assert visit.blocked == visit.requests


def test_choosing_another_point_and_metric_draws_its_figures(
    browser: Browser, tmp_path: Path
) -> None:
    action = """
    for (const select of document.querySelectorAll(".choose-point, [data-choose]")) {
      select.selectedIndex = 0;
      select.dispatchEvent(new Event("change", { bubbles: true }));
    }
    """
    visit = _visit(browser, tmp_path, render_page(SHAPES["everything"]), action=action)
    states = {key: figure["state"] for key, figure in visit.figures.items()}
    assert set(states.values()) <= {"drawn", "empty"}
    assert states["load-stations"] == "drawn"
    assert "problems" not in visit.state
    assert not visit.console


def test_holding_another_level_draws_the_figure_again(browser: Browser, tmp_path: Path) -> None:
    action = """
    const select = document.querySelector("[data-choose]");
    select.selectedIndex = 1;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    """
    visit = _visit(browser, tmp_path, render_page(SHAPES["categorical"]), action=action)
    assert _complaints(visit) == []


def test_the_button_switches_the_scheme_of_page_and_figures(
    browser: Browser, tmp_path: Path
) -> None:
    action = """
    document.getElementById("scheme").click();
    const text = document.querySelector(".chart svg text.muted");
    document.documentElement.dataset.fill = getComputedStyle(text).fill;
    """
    visit = _visit(browser, tmp_path, render_page(SHAPES["measured"]), action=action)
    assert _complaints(visit) == []
    assert visit.state["fill"] == "rgb(164, 174, 184)"


def test_a_click_on_a_head_sorts_by_number_not_by_text(browser: Browser, tmp_path: Path) -> None:
    """As text, 1.21 s would stand before 143 ms; as numbers it is the slowest."""
    action = """
    const table = document.querySelector(".experiment table.sortable");
    const button = table.querySelectorAll("thead button")[2];
    button.click();
    document.documentElement.dataset.order = [...table.tBodies[0].rows]
      .map((row) => row.cells[0].textContent + row.cells[1].textContent).join(" ");
    """
    visit = _visit(browser, tmp_path, render_page(SHAPES["measured"]), action=action)
    assert visit.state["order"].split()[0] == "zstd1"
    assert visit.state["order"].split()[-1] == "zstd19"


@pytest.mark.parametrize(("scheme", "ink"), [("light", "26, 31, 36"), ("dark", "231, 234, 237")])
def test_the_tooltip_says_n_and_interval_in_readable_ink(
    browser: Browser, tmp_path: Path, scheme: Scheme, ink: str
) -> None:
    """Cause: the library's dark theme wrote dark ink on a dark ground inside this page."""
    action = """
    const mark = document.querySelector("#load-throughput-users circle");
    mark.scrollIntoView();
    const box = mark.getBoundingClientRect();
    const place = { bubbles: true, clientX: box.x + 5, clientY: box.y + 5 };
    mark.dispatchEvent(new PointerEvent("pointermove", place));
    const tip = document.getElementById("tip");
    document.documentElement.dataset.tip = tip.textContent;
    document.documentElement.dataset.ink = getComputedStyle(tip).color;
    """
    page = render_page(SHAPES["numeric sweep"])
    visit = _visit(browser, tmp_path, page, scheme=scheme, action=action)
    assert "20.0 /s (19.4 to 20.6)" in visit.state["tip"]
    assert "n = 10" in visit.state["tip"]
    assert visit.state["ink"] == f"rgb({ink})"


def test_choosing_part_and_quantity_draws_their_line(browser: Browser, tmp_path: Path) -> None:
    action = """
    const select = document.querySelector("#load-over-time [data-choose]");
    select.selectedIndex = 1;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    new Promise((resolve) => { setTimeout(() => {
      const svg = document.querySelector("#load-over-time svg");
      document.documentElement.dataset.title = svg.textContent;
      resolve();
    }, 300); });
    """
    page = render_page(study(over_time_experiment()))
    visit = _visit(browser, tmp_path, page, action=action)
    assert _complaints(visit) == []
    assert "mean response time (ms)" in visit.state["title"]


def test_a_click_on_the_name_of_a_series_singles_it_out(browser: Browser, tmp_path: Path) -> None:
    action = """
    const panel = document.querySelector("#load-throughput-users");
    const click = () => panel.querySelector("[data-key='0']")
      .dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const dimmed = () => panel.querySelectorAll("[data-series].dim").length;
    click();
    document.documentElement.dataset.once = dimmed();
    click();
    document.documentElement.dataset.twice = dimmed();
    """
    visit = _visit(browser, tmp_path, render_page(SHAPES["numeric sweep"]), action=action)
    assert int(visit.state["once"]) > 0
    assert visit.state["twice"] == "0"


def test_a_dense_line_is_read_off_at_the_pointer(browser: Browser, tmp_path: Path) -> None:
    """Oracle: the busy share is a known function of time."""
    action = """
    const line = document.querySelector("#load-over-time svg.wide [data-line]");
    line.scrollIntoView({ block: "center" });
    const box = line.getBoundingClientRect();
    line.dispatchEvent(new PointerEvent("pointermove", {
      bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 }));
    document.documentElement.dataset.tip = document.getElementById("tip").textContent;
    """
    page = render_page(study(over_time_experiment(200)))
    visit = _visit(browser, tmp_path, page, action=action)
    time, value = (float(line.rpartition(" ")[2]) for line in visit.state["tip"].splitlines())
    assert time == pytest.approx(100.0, abs=1.5)
    near = [50.0 + 50.0 * math.sin(t / 9) ** 2 for t in range(int(time) - 2, int(time) + 3)]
    assert min(near) - 1.0 <= value <= max(near) + 1.0


def test_a_point_without_series_says_so(browser: Browser, tmp_path: Path) -> None:
    action = """
    const select = document.querySelector(".choose-point");
    select.selectedIndex = 0;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    """
    page = render_page(study(over_time_experiment()))
    visit = _visit(browser, tmp_path, page, action=action)
    assert visit.figures["load-over-time"]["state"] == "empty"
    assert not visit.console


@pytest.mark.parametrize("first", ["counts_s", "samples_s"])
def test_metrics_with_bins_and_metrics_with_samples_have_panels_of_their_own(
    first: str, browser: Browser, tmp_path: Path
) -> None:
    experiment = measured_experiment()
    point = experiment.points[0]
    found = point.distributions[0]
    samples = msgspec.structs.replace(
        found, metric="samples_s", low=[], high=[], counts=[], samples=[1.0, 2.0, 3.0]
    )
    counts = msgspec.structs.replace(
        found, metric="counts_s", low=[1.0, 2.0], high=[2.0, 3.0], counts=[4, 5], samples=[]
    )
    ordered = sorted([counts, samples], key=lambda one: one.metric != first)
    changed = msgspec.structs.replace(point, distributions=ordered)
    page = render_page(study(msgspec.structs.replace(experiment, points=[changed])))
    visit = _visit(browser, tmp_path, page)
    assert _complaints(visit) == []
    kinds = {key.rpartition("-")[2] for key in visit.figures}
    assert {"histogram", "cumulative", "samples"} <= kinds
    assert page.count("<option>") == 0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("is_last", [True, False])
def test_response_times_over_time_are_drawn_where_a_point_has_them(
    browser: Browser,
    tmp_path: Path,
    scheme: Scheme,
    is_last: bool,  # noqa: FBT001 - a case
) -> None:
    """A point without a map says so."""
    experiment = latency_experiment()
    place = "select.options.length - 1" if is_last else "0"
    action = f"""
    const select = document.querySelector(".choose-point");
    select.selectedIndex = {place};
    select.dispatchEvent(new Event("change", {{ bubbles: true }}));
    """
    visit = _visit(browser, tmp_path, render_page(study(experiment)), scheme=scheme, action=action)
    found = visit.figures[f"{experiment.name}-latency-map"]
    assert found["state"] == ("drawn" if is_last else "empty")
    assert not visit.console
