"""The page of measured gates and histories, from the stored results of the benchmark."""

from scipy import stats

from benches import histories, slowdowns
from benches.gate import (
    MEANING,
    QUESTION,
    SUITES,
    THRESHOLD,
    GateRow,
    RealGates,
    gate_table,
    load,
    real_table,
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

PEERS = f"""## Beside hyperfine

A command against itself, and against one that computes {100 * slowdowns.THRESHOLD:.0f}% more, on a
busy machine: {slowdowns.PAIRS} pairs each, and the metrics that Headroom chooses. hyperfine has no
gate: its claim is what its own script `welch_ttest.py` says of its wall times at 5%. *Blind*: gates
that say that they could not have seen it; *sees*: the smallest slowdown that a gate without one
says it would have found, the median. `python -m benches.slowdowns` measures all again; with
`--table` it prints the stored table.
"""

HISTORIES = f"""## Histories

`headroom history` on series of {histories.LENGTH} nightly results with
{100 * histories.SCATTER:.0f}% of noise, next to Apache Otava, e-divisive (its original form, as
Otava has it) and PELT (ruptures, squared errors, the penalty of BIC). *Found*: a change is reported
within three results of each true one; *exact*: at the very places, and nowhere else. *With drifts*
counts what Headroom reports as "a drift, or steps that cannot be distinguished from one" too (in
the line of drifts these reports are true). *Oracle*: tests only the true places, against any drift,
with 1% of false steps in the worst drift; empty where it would need normal noise.
No method was developed on these series.
`python -m benches.histories --peers PYTHON` measures all again, with an interpreter that has
`apache-otava` and `ruptures`; with `--table` it prints the stored tables.

"""

HISTORIES_READING = """
A step of twice the scatter looks like a drift of the machine, and is reported as a step or drift:
even the oracle, which knows its place, distinguishes fewer than half of them. The others call every
drift a step, and noise that remembers the last result a change.
"""


def gates() -> str:
    """Return the page."""
    gated, real = load()
    legend = "\n".join(f"- *{name}*: {text}." for name, text in MEANING.items())
    parts = [
        OPENING,
        _in_short(gated),
        READING,
        "## All lines\n",
        legend + "\n",
        gate_table(gated) + "\n",
        _real(real),
        PEERS,
        slowdowns.table(slowdowns.load()) + "\n",
        HISTORIES + histories.table(histories.load()),
        HISTORIES_READING,
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
