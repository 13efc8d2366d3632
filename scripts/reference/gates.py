"""The page of measured gates and histories, from the stored results of the benchmark."""

from scipy import stats

from benches.gate import (
    MEANING,
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
from headroom.gate.threshold import AGAIN_TIMES, BLOCKS
from scripts.reference.tables import NOTICE

OPENING = f"""# Gates: error rates of regressions and of histories

`headroom compare --fail-on-regression {100 * THRESHOLD:.0f}%`, with {BLOCKS} blocks in the first
look and {AGAIN_TIMES * BLOCKS} in the second, as shipped. A line of one row stands for
{SUITES[1][0]:,} simulated gates without a slowdown, and for {SUITES[1][1]:,} with one of each size;
a line of 20 rows for {SUITES[20][0]:,} and {SUITES[20][1]:,}. The standard error of a false alarm
rate of 1% is 0.1 or 0.2 points, that of a power of 90% is 0.7 or 1.3 points.
`python -m benches.gate` measures all again; `python -m benches.gate --table` prints the stored
tables.

- *Rows*: metrics and points that the gate judges; only the first one is slower.
- *Suspected*: gates without a slowdown that measure anything again.
- *False alarms*: gates without a slowdown that fail; the promise is at most 1%.
- *Finds 3%*: gates that fail because one row takes 3% longer.
"""

READING = """## How to read it

- **Any noise.** The order within blocks is random, so drift, modes and memory of the machine raise
  no false alarms. They only hide differences.
- **Power** depends on the scatter within blocks. A machine that is slow or fast for a while
  (*autocorrelated*) scatters little within a block, and shows a slowdown of 3% nearly always. One
  that changes from run to run (*bimodal*, 7% in all) hides it: use more blocks.
- **Slowdowns below the threshold** pass if their interval excludes it, else they may fail.
"""

HISTORIES = f"""## Histories

`headroom history` on {SERIES:,} series for each line, without a change, and with one in the middle
whose size is 1, 2 or 3 times the scatter of 3% (sd). Exchangeable results raise no more false
alarms than stated. Results that depend on those before them do (*drifting*, *autocorrelated*):
the level of such a series moves, whatever the program does.
"""


def gates() -> str:
    """Return the page."""
    gated, series, real = load()
    legend = "\n".join(f"- *{name}*: {text}." for name, text in MEANING.items())
    parts = [
        NOTICE,
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
    (line,) = lines
    ends = stats.binomtest(line.alarms, line.gates).proportion_ci()
    low, high = (f"{100 * end:.1f}%" for end in (ends.low, ends.high))
    return f"""## Real gates

A real command against itself in three metrics, on a machine of two processors that other programs
kept busy (`python -m benches.gate --real 200`). The 95% interval of the rate of false alarms is
{low} to {high}: these gates are compatible with the promise, and too few to prove it.

{real_table(lines)}
"""
