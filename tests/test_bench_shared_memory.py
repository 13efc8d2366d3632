"""The benchmark of simulated machines: one algorithm in both languages, and its peers."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from benches import shared_memory as part
from benches.harness import measure_case, table
from headroom.systems.shared_memory import native
from headroom.systems.shared_memory.program_parameters import program_json

pytestmark = pytest.mark.deep

N, BLOCK = 64, 16

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None, reason="no compiler; get it, in Debian: sudo apt-get install gcc"
)


@needs_compiler
@pytest.mark.parametrize("kind", ["plain", "hooked"])
def test_the_program_in_c_factors_its_matrix(kind: str) -> None:
    """Closed form: the determinant is the product of the pivots."""
    rows, columns = np.indices((N, N))
    matrix = (rows * 37 + columns * 11) % 101 / 101 + N * np.eye(N)
    _, expected = np.linalg.slogdet(matrix)
    argv = [str(part.programs()[kind]), str(N), str(BLOCK), "2"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert float(done.stdout) == pytest.approx(expected, rel=1e-10)


@needs_compiler
def test_the_program_in_c_makes_the_references_of_the_simulated_one() -> None:
    """Its compiler keeps a few in registers, or adds a few of its own."""
    subject = part.Simulated(part.LU, "numa")
    assert subject.rate() > 0.0
    assert part.references_in_c() == pytest.approx(subject.references, rel=0.02)


@needs_compiler
def test_the_peer_gets_references_to_the_matrix_alone() -> None:
    """The matrix and the few variables of the program."""
    places = {place >> 12 for place, _ in part.first_references()}
    matrix_pages = int(part.SIZES[0]) ** 2 * 8 >> 12
    assert len(places) <= matrix_pages + 3
    writes = sum(writes for _, writes in part.first_references())
    assert 0.25 < writes / len(part.first_references()) < 0.4


def test_every_program_runs_beside_its_native_run() -> None:
    titles = {case.name: case for case in part.cases()}
    for load in (*part.LOADS, *part.LARGE):
        names = [name for name in titles if name.startswith(f"{load.title}, ")]
        assert names
        assert all(part.NATIVE in titles[name].peers for name in names)


def test_large_programs_exist_and_have_a_gigabyte() -> None:
    for load in part.LARGE:
        program = program_json(part.Simulated(load, "ncc").config())
        assert native.program_memory(program, threads=part.NODES) > 10**9


def test_a_native_run_has_the_references_of_the_simulation() -> None:
    """LU of n rows has about n^3 / 3 products, of three references each."""
    small = replace(part.LU, title="small", config={"program": "lu", "lu_size": 32})
    subject = part.Simulated(small, "ncc")
    assert subject.rate() > 0.0
    assert subject.native_rate() > 0.0
    assert subject.references == pytest.approx(32**3, rel=0.05)


def test_missing_peers_have_rows_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "without_valgrind", lambda: "there is no valgrind")
    monkeypatch.setattr(part, "without_pycachesim", lambda: "there is no pycachesim")
    case = part.simulated(part.LU, "ncc")
    assert list(case.peers) == [part.NATIVE]
    quick = replace(
        case, headroom=lambda: 7e7, peers={part.NATIVE: lambda: 7e8}, repeats=2, unmeasured=0
    )
    rows = measure_case(quick)
    assert "there is no pycachesim" in table(rows)
    text = part.shown(rows)
    assert "60.0: met" in text
    assert "cachegrind, one hierarchy cannot: there is no valgrind" in text


@pytest.mark.parametrize(
    ("rates", "word"), [((7e7, 8e7), "met"), ((5e7, 8e7), "undecided"), ((5e7, 5.5e7), "missed")]
)
def test_a_goal_is_met_if_all_rounds_reach_it(rates: tuple[float, float], word: str) -> None:
    figures = iter(rates)
    case = replace(part.simulated(part.LU, "numa"), peers={part.NATIVE: lambda: 1e9}, cannot={})
    case = replace(case, headroom=lambda: next(figures), repeats=2, unmeasured=0)
    (row,) = measure_case(case)
    assert part.verdict(row, part.goal_of(row.case)) == f"60.0: {word}"
