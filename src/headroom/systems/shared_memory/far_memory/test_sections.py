"""Sections of a recorded program: the numbers of its tables, a bounded size, drawn in a browser."""

import os
import random
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.experiment.protocol.artefact import Artefact, within_limits
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import (
    Matrix,
    Section,
    SectionPoint,
    StackedBars,
    Timeline,
    problem_of,
)
from headroom.experiment.protocol.system import Value
from headroom.report.browser import CURE, find_chromium, open_browser
from headroom.report.page import render_page
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.far_memory.system import FarMemory, FarMemorySetup
from headroom.systems.shared_memory.far_memory.tables import MOST_ROWS, tables
from headroom.systems.shared_memory.far_memory.test_far_memory import HOT, WALK, run_of
from headroom.systems.shared_memory.hook.sites import Place
from tests.support.example_results import measured_experiment, study

TITLES = [
    "Time by kind", "Where far accesses come from", "Each node over the run",
    "Time of each node", "Whose shared memory each node uses",
    "Memory that writes of others take away",
]  # fmt: skip
NODES, SITES = 64, 10_000


def point(run: Run, **levels: Value) -> SectionPoint:
    """Return a point whose levels are its configuration."""
    label = ", ".join(map(str, levels.values()))
    artefacts = {one.name: one for one in within_limits(run.artefacts)}
    config = {"nodes": 2, "placement": "first_touch", **levels}
    return SectionPoint(
        label=label, levels=levels, config=config, estimates=run.values, artefacts=artefacts
    )


@pytest.fixture
def walked(tmp_path: Path) -> tuple[FarMemory, list[SectionPoint]]:
    """Return points of a small program, which is recorded once, with two mistakes."""
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed; get it, in Debian: sudo apt-get install gcc")
    (tmp_path / "walk.c").write_text(WALK, encoding="utf-8")
    setup = FarMemorySetup(sources=("walk.c",), machine="cxl_pool")
    system = FarMemory.load(setup, base=tmp_path)
    points = [
        point(run_of(system, cache=cache, placement=placement), cache=cache, placement=placement)
        for cache in (True, False)
        for placement in ("most", "first_touch")
    ]
    return system, points


def bars(sections: Sequence[Section], title: str) -> StackedBars:
    (found,) = (one for one in sections if one.title == title)
    assert isinstance(found, StackedBars)
    return found


def column(artefact: Artefact, name: str) -> list[float]:
    return [float(row[name]) for row in artefact.rows()]


def test_sections_have_the_numbers_of_the_tables(
    walked: tuple[FarMemory, list[SectionPoint]],
) -> None:
    """Oracle: the files of the same points, and the times that a processor's add up to."""
    system, points = walked
    sections = system.sections(points)
    assert [one.title for one in sections] == TITLES[:5], "no line of it is hot"
    assert [problem_of(one) for one in sections] == [""] * len(sections)
    plain, cached = points[3].artefacts, points[1].artefacts
    spent = bars(sections, TITLES[0])
    assert spent.bars == ["cache, most", "cache, first_touch", "no cache, most",
                          "no cache, first_touch"]  # fmt: skip
    assert [sum(row) for row in spent.values] == pytest.approx(
        [one.estimates["run_s"] for one in points]
    )
    misses = bars(sections, TITLES[1])
    assert misses.bars[0].endswith("(work), no cache")
    for name, table in (("no cache", plain), ("cache", cached)):
        drawn = [
            sum(row)
            for bar, row in zip(misses.bars, misses.values, strict=True)
            if bar.endswith(f", {name}")
        ]
        assert sum(drawn) == pytest.approx(sum(column(table["lines.csv"], "time s")), rel=2e-3)
    nodes = bars(sections, TITLES[3])
    assert nodes.bars == ["node 0, no cache", "node 1, no cache", "node 0, cache", "node 1, cache"]
    remote = [row[nodes.parts.index("other nodes")] for row in nodes.values]
    tables_of_nodes = [
        *column(plain["nodes.csv"], "remote"),
        *column(cached["nodes.csv"], "remote"),
    ]
    assert remote == tables_of_nodes
    mean = points[3].estimates["remote_s"]
    assert sum(remote[:2]) / 2 == pytest.approx(mean, rel=1e-5)
    sharing = next(one for one in sections if isinstance(one, Matrix))
    counts = [column(plain["sharing.csv"], f"memory of node {home}") for home in range(2)]
    assert sharing.values == [
        [count / sum(map(sum, counts)) for count in row] for row in zip(*counts, strict=True)
    ]


def test_the_run_in_time_has_the_times_of_its_phases(
    walked: tuple[FarMemory, list[SectionPoint]],
) -> None:
    """Oracle: a lane ends with the run, and a state lasts its share of all processors' time."""
    system, points = walked
    timeline = next(one for one in system.sections(points) if isinstance(one, Timeline))
    for name, one in (("no cache", points[3]), ("cache", points[1])):
        of_nodes = one.artefacts["nodes.csv"].rows()
        for node, times in enumerate(of_nodes):
            spans = [span for span in timeline.spans if span.lane == f"node {node}, {name}"]
            assert spans[-1].end_s == pytest.approx(one.estimates["run_s"], rel=1e-5)
            lasting: dict[str, float] = defaultdict(float)
            for span in spans:
                lasting[span.state] += span.end_s - span.start_s
            assert lasting["other nodes"] == pytest.approx(float(times["remote"]), rel=1e-2)
            assert lasting["computing"] == pytest.approx(float(times["compute"]), rel=1e-2)


def test_a_hot_variable_leads_its_section(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed; get it, in Debian: sudo apt-get install gcc")
    (tmp_path / "hot.c").write_text(HOT, encoding="utf-8")
    setup = FarMemorySetup(sources=("hot.c",), machine="two_socket")
    system = FarMemory.load(setup, base=tmp_path)
    run = run_of(system)
    hot = bars(system.sections([point(run, cache=True)]), TITLES[5])
    (first, *_) = next(one for one in run.artefacts if one.name == "hot_lines.csv").rows()
    assert hot.bars[0] == "counters + 0 B"
    assert hot.values[0][hot.parts.index("from caches of processors")] == float(
        first["from processors"]
    )


def large(*, cache: bool) -> SectionPoint:
    """Return a point of 64 nodes and a program that allocates in 10,000 lines."""
    chance = random.Random(7 + cache)  # noqa: S311 - of a test
    kinds = native.TIME_KINDS
    found: dict[str, Any] = {
        "groups": [(0, 0, 0), *((site, 3, 4096) for site in range(1, SITES))],
        "code": [
            (site, chance.randrange(SITES), chance.randrange(1, 10**6), chance.random())
            for site in range(SITES)
        ],
        "hot": [(64 * line, line, 8 * line, 9, 10**6 - line) for line in range(20)],
        "sharing": [[chance.randrange(10**7) for _ in range(NODES)] for _ in range(NODES)],
        "spent_s": [[chance.random() for _ in kinds] for _ in range(4 * NODES)],
        "moments": [(float(end + 1), [[1.0] * len(kinds)] * NODES) for end in range(1000)],
    }
    places = {
        site: Place(
            "a_function_with_a_rather_long_name", f"a_folder/of_sources_{site % 97}.c:{site}"
        )
        for site in range(SITES)
    }
    values = {"run_s": 1000.0, **{f"{kind}_s": 1000.0 / len(kinds) for kind in kinds}}
    run = Run(values=values, artefacts=tables(found, places))
    kept = {one.name for one in within_limits(run.artefacts)}
    assert kept == {one.name for one in run.artefacts}, "a table is too large to be kept"
    return point(run, cache=cache, nodes=NODES)


@pytest.mark.deep
def test_a_large_program_on_64_nodes_has_small_sections() -> None:
    """Nothing is lost but its name: the sums are those of all lines and of all nodes."""
    points = [large(cache=False), large(cache=True)]
    sections = FarMemory.sections(_any_system(), points)
    assert [one.title for one in sections] == TITLES
    assert [problem_of(one) for one in sections] == [""] * len(sections)
    misses = bars(sections, TITLES[1])
    assert (len(misses.bars), len(misses.parts)) == (2 * 7, 6)
    tables_of_misses = [one.artefacts["misses.csv"] for one in points]
    assert [len(one.rows()) for one in tables_of_misses] == [MOST_ROWS + 1] * 2
    total = sum(sum(column(one, "time s")) for one in tables_of_misses)
    assert sum(map(sum, misses.values)) == pytest.approx(total, rel=1e-6)
    assert len(bars(sections, TITLES[3]).bars) == 2 * 8
    sharing = next(one for one in sections if isinstance(one, Matrix))
    assert (sharing.rows[-1], len(sharing.columns)) == ("56-63", 8)
    rows = points[0].artefacts["sharing.csv"].rows()
    counts = [[int(row[f"memory of node {home}"]) for home in range(NODES)] for row in rows]
    corner = sum(sum(row[-8:]) for row in counts[-8:]) / sum(map(sum, counts))
    assert sharing.values[-1][-1] == pytest.approx(corner)
    assert len(msgspec.json.encode(sections)) < 64 * 1024


def _any_system() -> FarMemory:
    return FarMemory.load(FarMemorySetup(program="none"), base=Path())


def test_points_without_tables_have_their_times_alone() -> None:
    """Results of an older version, and most points of an experiment of more than 50."""
    one = large(cache=True)
    bare = SectionPoint(
        label=one.label, levels=one.levels, config=one.config, estimates=one.estimates
    )
    assert [found.title for found in _any_system().sections([bare])] == TITLES[:1]
    assert _any_system().sections([]) == []


@pytest.mark.deep
@pytest.mark.parametrize("is_large", [False, True])
def test_the_page_shows_all_sections(
    tmp_path: Path, walked: tuple[FarMemory, list[SectionPoint]], *, is_large: bool
) -> None:
    if find_chromium() is None and os.environ.get("CI") != "true":
        pytest.skip(f"no Chromium: {CURE}")
    system, points = walked
    sections = list(system.sections([large(cache=True)] if is_large else points))
    experiment = msgspec.structs.replace(measured_experiment(), sections=sections)
    path = tmp_path / "report.html"
    path.write_text(render_page(study(experiment)), encoding="utf-8")
    with open_browser() as browser:
        for width in (1280, 400):
            visit = browser.visit(path, width=width, unfolds=True)
            figures: Mapping[str, Any] = visit.figures
            drawn = [key for key in figures if "-section-" in key]
            assert len(drawn) == len(sections)
            assert {figures[key]["state"] for key in drawn} == {"drawn"}
            assert (visit.overflow, visit.console) == (0, [])
