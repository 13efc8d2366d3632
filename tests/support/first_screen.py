"""Rules for a page before anything is unfolded, measured in a browser.

Used by the tests of the page and by those of every study, so that a new study is held to it too.
"""

import json
from pathlib import Path
from typing import Any

from headroom.report.browser import Browser, Scheme, Visit

WIDE_PX, PHONE_PX, NARROW_PX, SMALL_PX = 1280, 390, 375, 320
"""The last but one is the narrowest on which the text of figures keeps its size, beside a scrollbar
of 15 px."""
SCREENS: tuple[tuple[int, Scheme], ...] = (
    (WIDE_PX, "light"),
    (WIDE_PX, "dark"),
    (PHONE_PX, "light"),
    (PHONE_PX, "dark"),
    (NARROW_PX, "dark"),
)
FOLD_PX = 900
"""Height of the window, which shows answer, figure, chips and the first caution."""
FIGURE_FROM_PX = 400
TALLEST_PX = {WIDE_PX: 3_500, PHONE_PX: 7_000, NARROW_PX: 7_000}
MOST_WORDS = 1_200
MOST_FIGURES = 9
UNFOLD_ALL = """
for (const fold of document.querySelectorAll("details")) fold.open = true;
"""
_MEASURE = """
const box = (element) => element.getBoundingClientRect();
const bottom = (selector) => {
  const found = document.querySelector(selector);
  return found ? box(found).bottom + scrollY : 0;
};
/* What is folded has a box all the same. */
const isSeen = (one) => box(one).width > 0 && !one.closest("details:not([open])");
const pictures = [...document.querySelectorAll("svg.figure")].filter(isSeen);
const labels = pictures.flatMap((picture) => {
  const frame = box(picture);
  const texts = [...picture.querySelectorAll("text")].map((one) => [one.textContent, box(one)]);
  const cut = texts.filter(([, at]) => at.left < frame.left - 1 || at.right > frame.right + 1
    || at.top < frame.top - 2 || at.bottom > frame.bottom + 2).map(([text]) => `cut: ${text}`);
  const over = texts.flatMap(([text, at], place) => texts.slice(place + 1)
    .filter(([, other]) => Math.min(at.right, other.right) - Math.max(at.left, other.left) > 1
      && Math.min(at.bottom, other.bottom) - Math.max(at.top, other.top) > 2)
    .map(([other]) => `over: ${text} and ${other}`));
  const short = texts.map(([text]) => text).filter((text) => text.endsWith("\\u2026"))
    .map((text) => `short: ${text}`);
  return [...cut, ...over, ...short];
});
const shrunk = pictures.filter((one) => box(one).width < Number(one.getAttribute("width")) - 0.5);
const light = (colour) => {
  const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
  const linear = [r, g, b].map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return { a, y: 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] };
};
const ground = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const found = light(getComputedStyle(one).backgroundColor);
    if (found.a === 1) return found.y;
  }
  return 1;
};
const pale = [...document.querySelectorAll("main :is(h1, h2, h3, p, li, text), .chip")]
  .filter((one) => one.textContent.trim() && isSeen(one))
  .map((one) => {
    const style = getComputedStyle(one);
    const pair = [light(one.closest("svg") ? style.fill : style.color).y, ground(one)];
    return [one.textContent.trim(), (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05)];
  })
  .filter(([, contrast]) => contrast < 4.5)
  .map(([text, contrast]) => `pale (${contrast.toFixed(1)}): ${text}`);
const first = document.querySelector("svg.figure");
document.documentElement.dataset.measured = JSON.stringify({
  labels: [...labels, ...pale],
  shrunk: shrunk.length,
  height: document.documentElement.scrollHeight,
  words: document.querySelector("main").innerText.split(/\\s+/).length,
  figures: pictures.length,
  unlabelled: pictures.filter((one) => !one.getAttribute("aria-label")).length,
  starts: first ? Math.min(...pictures.map((one) => box(one).top + scrollY)) : 0,
  ends: Object.fromEntries(["h1", "#answer-figure .drawings", ".chips", "#cautions li"]
    .map((selector) => [selector, bottom(selector)])),
});
"""


def first_screen_problems(browser: Browser, page: Path) -> dict[str, list[str]]:
    """Return everything in which a page breaks the rules, by screen; nothing of one that does not.

    The page is measured at each of `SCREENS`. At last all folds are opened on a screen of 320 px,
    on which nothing may be too wide.
    """
    visits = browser.visit_screens(page, SCREENS, height=FOLD_PX, action=f"{{{_MEASURE}}}")
    found = {
        f"{width} {scheme}": [
            *_measured(json.loads(visit.state["measured"]), width),
            *_noise(visit),
        ]
        for (width, scheme), visit in zip(SCREENS, visits, strict=True)
    }
    last = browser.visit(page, width=SMALL_PX, height=FOLD_PX, action=UNFOLD_ALL)
    found["unfolded"] = _noise(last)
    return {screen: problems for screen, problems in found.items() if problems}


def _measured(seen: dict[str, Any], width: int) -> list[str]:
    limits = {
        "height": TALLEST_PX[width],
        "words": MOST_WORDS,
        "figures": MOST_FIGURES,
        "unlabelled": 0,
        "shrunk": 0,
        "starts": FIGURE_FROM_PX,
    }
    over = [f"{what}: {seen[what]} > {most}" for what, most in limits.items() if seen[what] > most]
    ends = seen["ends"] if width == WIDE_PX else {}
    below = [f"{what} ends at {at:.0f} px" for what, at in ends.items() if at > FOLD_PX]
    return [*over, *below, *seen["labels"]]


def _noise(visit: Visit) -> list[str]:
    wide = [f"{visit.overflow} px too wide"] if visit.overflow > 0 else []
    problems = [visit.state["problems"]] if "problems" in visit.state else []
    failed = [key for key, one in visit.figures.items() if one["state"] == "failed"]
    return [*wide, *problems, *failed, *visit.console, *visit.requests]
