"""The page of measured gates and histories, from the stored results of the benchmark."""

from scipy import stats

from benches.gate import (
    MEANING,
    QUESTION,
    SERIES,
    SUITES,
    THRESHOLD,
    GateRow,
    RealGates,
    gate_table,
    load,
    real_table,
    series_table,
)
from headroom.gate.threshold import AGAIN_TIMES, AIM, BLOCKS, LEVEL

OPENING = f"""# Gates: error rates of regressions and of histories

`headroom compare --fail-on-regression {100 * THRESHOLD:.0f}%` as shipped: a first look after
{BLOCKS} blocks, more of them up to {QUESTION.looks[-1]} blocks while the noise can hide the
threshold, and new blocks for suspected rows, {AGAIN_TIMES} times as many at least. A line of one
row stands for {SUITES[1][0]:,} simulated gates without a slowdown, and for {SUITES[1][1]:,} with
one of each size; a line of 20 rows for {SUITES[20][0]:,} and {SUITES[20][1]:,}. The standard error
of a power of 90% is 0.7 or 1.3 points. `python -m benches.gate` measures all again; `python -m
benches.gate --table` prints the stored tables.

- *Rows*: metrics and points that the gate judges; only the first one is slower.
- *Blocks*: of the first looks, on average, if nothing is slower.
- *Suspected*: gates without a slowdown that measure anything again.
- *False alarms*: gates without a slowdown that fail; the promise is at most {100 * LEVEL:.0f}%, and
  the design {100 * AIM:.1f}%.
- *Finds 3%*: gates that fail because one row takes 3% longer.
"""

READING = """## How to read it

- **Any noise.** The order within blocks is random, so drift, modes and memory of the machine raise
  no false alarms. They only hide differences.
- **Power** depends on the scatter within blocks. A machine that is slow or fast for a while
  (*autocorrelated*) scatters little within a block, and shows a slowdown of 3% nearly always. One
  that changes from run to run (*bimodal*, 7% in all) hides it: the gate takes more blocks by
  itself, up to `--max-runs`, and still misses more than one slowdown in ten.
- **Slowdowns below the threshold** pass if their interval excludes it, else they may fail.
"""

HISTORIES = f"""## Histories

`headroom history` on {SERIES:,} series for each line, without a step, and with one in the middle
whose size is 2, 5 or 10 times the scatter of 3% (sd). A *step* is reported if it explains the
series better than any drift does. Of other series whose level *moved*, the answer says so, and that
a drift explains it as well. The level of a *drifting* or *autocorrelated* series does move,
whatever the program does. A small step in a short series looks the same as such a drift: it counts
as moved until more results follow. The standard error of a rate of 1% is 0.2 points.
"""


def gates() -> str:
    """Return the page."""
    gated, series, real = load()
    legend = "\n".join(f"- *{name}*: {text}." for name, text in MEANING.items())
    parts = [
        OPENING,
        _in_short(gated),
        READING,
        "## All lines\n",
        legend + "\n",
        gate_table(gated) + "\n",
        _real(real),
        HISTORIES,
        series_table(series),
    ]
    return "\n".join(parts) + "\n"


def _in_short(rows: list[GateRow]) -> str:
    """Return the highest rate of false alarms, and the power at the threshold."""
    lines = [
        "## In short\n",
        "| rows | highest false alarms | finds 3% at 3% of scatter (normal) |",
        "| ---: | ---: | ---: |",
    ]
    for count in sorted({row.rows for row in rows}):
        equal = [row for row in rows if row.rows == count and row.effect == 0.0]
        alarms = max(row.alarms / row.gates for row in equal)
        power = next(
            row.found / row.gates
            for row in rows
            if (row.rows, row.noise, row.effect) == (count, "normal", THRESHOLD)
        )
        lines.append(f"| {count} | {100 * alarms:.2f}% | {100 * power:.0f}% |")
    return "\n".join(lines) + "\n"


def _real(lines: list[RealGates]) -> str:
    alarms, count = sum(line.alarms for line in lines), sum(line.gates for line in lines)
    ends = stats.binomtest(alarms, count).proportion_ci()
    low, high = (f"{100 * end:.1f}%" for end in (ends.low, ends.high))
    return f"""## Real gates

A real command against itself in three metrics, on a machine of two processors that other programs
kept busy (`python -m benches.gate --real 200`). *Blocks* are those of the first looks. The 95%
interval of the rate of false alarms is {low} to {high}.

{real_table(lines)}
"""
