"""Layered networks against figures that others published, and against closed forms.

The networks restate the parameters of examples of https://github.com/layeredqueuing/V5 and V6; the
figures are those of its folders `models/srvn6/petri-results` (exact, by Petri nets; B07) and
`models/regression/sim-results` (lqsim), and of `models/h-t-83/table1/set1` (lqsim).
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from headroom.forecasts import forecast_of
from headroom.lqn import read_lqn
from headroom.simulation import Model, simulate

COMPLETIONS = 40_000
WITHIN = 0.05
"""Of the published figures, which are simulated as well or rounded."""

B07 = """
G "only 2 processors" 1e-06 200 40 0.5 -1
P 2  p p1 f  p p2 f  -1
T 5
t t1 r e1 -1 p1
t t2 n e2 -1 p2
t t3 n e3 e4 -1 p1
t t4 n e5 -1 p1
t t5 n e6 e7 -1 p2
-1
E 7
s e1 0 1.5 0.5 -1
s e2 0 0.1 0.2 -1
s e3 0.1 2.0 -1
s e4 0.3 0.5 -1
s e5 0.3 0.1 -1
s e6 1.0 2.0 -1
s e7 0.1 0.7 -1
y e1 e3 0 1.0 0 -1
y e1 e4 0 0.5 0 -1
y e1 e5 0 2.0 1.1 -1
y e2 e5 0 2.0 1.1 -1
y e2 e6 0 1.0 2.5 -1
y e2 e7 0 0 1.0 -1
y e5 e6 0.5 1.7 -1
a e2 0.01
-1
"""
FORWARDING = """
P 4  p p0 i  p p1 f  p p2 f  p p3 f  -1
T 4  t t0 r e0 -1 p0 m 4  t t1 n e1 -1 p1 m 2  t t2 n e2 -1 p2 m 2  t t3 n e3 -1 p3  -1
E 4
s e0 0.5 0.5 -1  y e0 e1 0.25 0.75 -1
s e1 1 -1  F e1 e2 0.5 -1
s e2 1 -1  F e2 e3 0.5 -1
s e3 1 -1
-1
"""
DISKS = """
P 5  p p1 f  p d1 f  p d2 f  p d3 f  p d4 f -1
T 5  t t1 r e1 -1 p1 {copies}
t d1 n d1 -1 d1  t d2 n d2 -1 d2  t d3 n d3 -1 d3  t d4 n d4 -1 d4 -1
E 5  A e1 a1  s d1 0.04 -1  s d2 0.04 -1  s d3 0.04 -1  s d4 0.04 -1 -1
A t1
s a1 0.1  y a1 d1 2.5  y a1 d2 2.5  y a1 d3 2.5  y a1 d4 2.5
s b1 0.1  y b1 d1 2.5  y b1 d2 2.5  y b1 d3 2.5  y b1 d4 2.5
s b2 0.1  y b2 d1 2.5  y b2 d2 2.5  y b2 d3 2.5  y b2 d4 2.5
s c1 0
"""
FORK_JOIN = DISKS + ": a1 -> b1 & b2; b1 & b2 -> c1 -1"
# Of the second branch 0.5 passes, and of the third 0.33333, on average.
LOOPS = (
    DISKS
    + """
s b3 0.1  y b3 d1 2.5  y b3 d2 2.5  y b3 d3 2.5  y b3 d4 2.5
s b2a 0  s b2b 0  s b3a 0  s b3b 0
: a1 -> b1 & b2a & b3a; b2a -> 0.5 * b2, b2b; b3a -> 0.33333 * b3, b3b;
b1 & b2b & b3b -> c1 -1"""
)
QUORUM = """
P 4  p p1 f  p d1 f  p d2 f  p d3 f -1
T 4  t t1 r e1 -1 p1  t d1 n d1 -1 d1  t d2 n d2 -1 d2  t d3 n d3 -1 d3 -1
E 4  A e1 a1  s d1 0.04 -1  s d2 0.04 -1  s d3 0.04 -1 -1
A t1
s a1 1  s c1 1  s b1 0.1  f b1 1  y b1 d1 1  s b2 0.1  f b2 1  y b2 d2 1
s b3 0.1  f b3 1  y b3 d3 1
: a1 -> b1 & b2 & b3; b1 & b2 & b3 (2) -> c1 -1
"""
OPEN = """
P 5  p choose i  p DBD f  p DBP f  p WSD f  p WSP f -1
T 5  t choose i choose -1 choose
t DBD n DBD -1 DBD  t DBP n DBP -1 DBP  t WSD n WSD -1 WSD  t WSP n WSP -1 WSP -1
E 5  a choose 0.01  s choose 1e-5 -1
y choose DBD 1 -1  y choose DBP 1 -1  y choose WSD 1 -1  y choose WSP 1 -1
s DBD 10.52 -1  s DBP 10.73 -1  s WSD 7.55 -1  s WSP 17.12 -1 -1
"""
SECOND_PHASES = """
P 4  p c1 f  p c2 f  p c3 f  p s f -1
T 4  t client1 r cl1 -1 c1  t client2 r cl2 -1 c2  t client3 r cl3 -1 c3
t server1 n s1 s2 s3 -1 s -1
E 6  s cl1 2 -1  y cl1 s1 1 -1  s cl2 0.5 -1  y cl2 s2 1 -1  s cl3 1 -1  y cl3 s3 1 -1
s s1 1 5 -1  s s2 0.5 0.5 -1  s s3 0.5 1 -1 -1
"""
# Throughput (X) of a class or pool, threads in use (U) of a pool, busy servers (B) of a station.
PUBLISHED: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "B07, second phases": (B07, {
        "X t1": 0.0310463, "X t2": 0.0100312, "X e3": 0.0310397, "X e4": 0.015526,
        "X t4": 0.127414, "X e6": 0.315256, "X e7": 0.0100232, "U e3": 0.0712347,
        "U e4": 0.0154472, "U t4": 0.968097, "U e6": 0.948443, "U t2": 0.672659,
    }),
    "03-sanity, forwarding": (FORWARDING, {
        "X t0": 0.883978, "X t1": 0.884155, "X t2": 0.441941, "X t3": 0.221021, "U t1": 1.57752,
        "U t2": 0.616574, "U t3": 0.221042, "B p2": 0.442503,
    }),
    "45-activities of Heidelberger & Trivedi (1983), and-fork": (
        FORK_JOIN.format(copies="m 3"), {"X t1": 1.56751},
    ),
    "46-activities, and-fork with loops": (
        LOOPS.format(copies=""), {"X t1": 0.782985, "X d1": 5.54212, "U d2": 0.221795},
    ),
    "88-quorum": (QUORUM, {"X t1": 0.434087, "B p1": 0.99784, "U d1": 0.0173108}),
    "92-open": (OPEN, {
        "X choose": 0.01, "R choose": 52.7439, "U DBP": 0.107776, "U WSP": 0.171441,
    }),
    "91-cs3-1, entries with second phases": (SECOND_PHASES, {
        "X client1": 0.11271, "X client2": 0.136954, "X client3": 0.12439, "U server1": 0.998546,
        "U s1": 0.675355, "U s2": 0.136291, "U s3": 0.1869,
    }),
}  # fmt: skip


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Model]:
    def reading(text: str) -> Model:
        path = tmp_path / ("m.lqnx" if text.lstrip().startswith("<") else "m.lqn")
        path.write_text(text)
        return read_lqn(path)

    return reading


def figures(model: Model, *, completions: int = COMPLETIONS) -> dict[str, float]:
    """Return throughputs (X), mean held tokens (U) and busy servers (B), response times (R)."""
    result = simulate(model, seed=1, completions=completions)
    length = result.snapshot_times_s[-1]
    found: dict[str, float] = {}
    for letter, table, column in (
        ("X", result.classes, "completion_count"),
        ("X", result.pools, "grant_count"),
        ("U", result.pools, "held_s"),
        ("B", result.stations, "busy_s"),
    ):
        if table.names:
            rates = table.columns[column][-1] / length
            found |= {f"{letter} {name}": float(rates[at]) for at, name in enumerate(table.names)}
    spent = result.classes.columns["response_s_sum"][-1]
    done = result.classes.columns["completion_count"][-1]
    return found | {
        f"R {name}": float(spent[at] / done[at]) for at, name in enumerate(result.classes.names)
    }


@pytest.mark.parametrize(("text", "published"), PUBLISHED.values(), ids=list(PUBLISHED))
def test_published_figures_are_met(
    text: str, published: Mapping[str, float], read: Callable[[str], Model]
) -> None:
    found = figures(read(text))
    assert {name: found[name] for name in published} == pytest.approx(published, rel=WITHIN)


def machine_repair(*, jobs: int, think: float, service: float, servers: int) -> float:
    """Return the throughput of `jobs` that think and share a queue of `servers` (M/M/c//N)."""
    weights = [1.0]
    for busy in range(1, jobs + 1):
        rate = min(busy, servers) / service
        weights.append(weights[-1] * (jobs - busy + 1) / think / rate)
    total = sum(weights)
    return sum(w * min(n, servers) / service for n, w in enumerate(weights)) / total


@pytest.mark.parametrize(("threads", "where"), [(1, "f"), (2, "i"), (2, "f m 2"), (3, "i")])
def test_two_layers_are_machine_repair(
    threads: int, where: str, read: Callable[[str], Model]
) -> None:
    """Oracle: threads queue in front of a processor that is never short of servers."""
    model = read(f"""
        P 2 p desk i p cpu {where} -1
        T 2 t users r browse -1 desk z 2 m 5 t web n page -1 cpu m {threads} -1
        E 2 s browse 0 -1 f browse 1 -1 y browse page 1 -1 s page 1 -1 -1
        """)
    exact = machine_repair(jobs=5, think=2.0, service=1.0, servers=threads)
    assert figures(model)["X users"] == pytest.approx(exact, rel=0.02)
    assert forecast_of(model).values["throughput"] == pytest.approx(exact, rel=0.02)


def test_one_customer_waits_for_nobody(read: Callable[[str], Model]) -> None:
    """Oracle: 1 s at the client, 1.5 calls of 0.4 s each, of which 0.5 go on to 0.2 s."""
    model = read("""
        P 3 p a i p b f p c s 0 R 2 -1
        T 3 t user r use -1 a t mid n work -1 b t low n store -1 c -1
        E 3 s use 1 -1 y use work 1.5 -1 s work 0.4 -1 y work store 0.5 -1 s store 0.4 -1 -1
        """)
    forecast = forecast_of(model)
    assert forecast.is_exact
    assert forecast.values["throughput"] == pytest.approx(1 / (1 + 1.5 * (0.4 + 0.5 * 0.2)))


def test_messages_without_reply_are_not_waited_for(read: Callable[[str], Model]) -> None:
    """Oracle: the sender takes 5 s; the receiver is an M/G/1 queue of about half its load."""
    found = figures(
        read("""
        P 2 p a i p b f -1
        T 2 t user r use -1 a z 4 t log n write -1 b -1
        E 2 s use 1 -1 f use 1 -1 z use write 2 -1 s write 1.25 -1 -1
        """)
    )
    assert found["X user"] == pytest.approx(0.2, rel=0.02)
    assert found["B b"] == pytest.approx(0.5, rel=0.02)


def test_the_more_urgent_task_has_the_processor_first(read: Callable[[str], Model]) -> None:
    """Oracle: preemption lets the urgent one see an empty processor: 1 / (4 + 1)."""
    found = figures(
        read("""
        P 1 p cpu p -1
        T 3 t urgent r a -1 cpu 4 z 4  t other r b -1 cpu z 4  t last r c -1 cpu z 4 -1
        E 3 s a 1 -1 s b 1 -1 s c 1 -1 -1
        """)
    )
    assert found["X urgent"] == pytest.approx(0.2, rel=0.02)
    assert found["X other"] < 0.19
