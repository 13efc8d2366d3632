"""The page of the measured comparisons: printed from the stored results of the benchmark."""

from benches.comparisons import (
    COMPARISONS,
    EFFECTS,
    MEANING,
    Row,
    load,
    queue_table,
    table,
)
from scripts.reference.tables import NOTICE

OPENING = f"""# Comparisons: how often a verdict is wrong, and what it sees

Each line stands for {COMPARISONS:,} simulated comparisons of two systems, judged by the shipped
analysis at 95 %. *False alarms*: the systems are equal, and one is called larger or smaller; at
most 5 % is promised. *Sees 10 %*: one takes 10 % longer, and is called so. *Same if equal*: equal
systems are called the same within the default `same_within` of 5 %. `make bench PART=comparisons`
measures all of it again, which takes about two minutes of one core; `python -m
benches.comparisons --print` prints the stored tables. The standard error of a line is half a
point at 5 %, and one point at 50 %.

*Blocks*: runs of one block are pairs, judged by signed ranks. *Apart*: the levels were not
interleaved, and the medians are compared. How both work:
[Statistics](../background/statistics.md).
"""

READING = """## How to read it

- **10 blocks** see a difference of twice the scatter of one run nearly always; 25 see one as
  large as the scatter in nine of ten cases. The former method, the order statistics of the
  ratios, needed 40.
- **A drift** costs blocks nothing, and nearly everything without them.
- **Outliers** cost blocks more than medians, since a pair has two runs that may be hit: without a
  drift, 10 to 20 % are seen more often apart. If a program stalls now and then, measure more.
- **To call two systems the same** within 5 % takes far more runs than to tell 10 % apart.
"""

QUEUES = """## Simulated systems with common seeds

What doubling a station gives is the ratio of two means, from pairs of runs with the same seeds.
Signed ranks would be wrong there: the mean of a short run of a queue is skewed, so the typical
ratio of two runs is not the ratio of the means, and the error grows with the number of pairs. The
table has two M/M/1 queues at load 0.8, one with a server that is 5 % faster, and counts how often
an interval misses the exact ratio of the mean response times; 5 % would be right. Runs this short
are marked in a report.
"""


def comparisons() -> str:
    """Return the page."""
    rows, queues = load()
    legend = "\n".join(f"- *{name}*: {text}." for name, text in MEANING.items())
    parts = [
        NOTICE,
        OPENING,
        _in_short(rows),
        READING,
        "## All lines\n",
        legend + "\n",
        table(rows) + "\n",
        QUEUES,
        queue_table(queues),
    ]
    return "\n".join(parts) + "\n"


def _in_short(rows: list[Row]) -> str:
    """Return the extremes of the false alarms, and the power of blocks at 10 and 25 runs."""
    lines = [
        "## In short\n",
        "| compared | lines | lowest false alarms | highest |",
        "| --- | ---: | ---: | ---: |",
    ]
    for way in ("blocks", "apart"):
        shares = [row.false_alarms / row.comparisons for row in rows if row.way == way]
        lines.append(
            f"| {way} | {len(shares)} | {100 * min(shares):.1f} % | {100 * max(shares):.1f} % |"
        )
    heads = " | ".join(f"sees {100 * effect:.0f} %" for effect in EFFECTS)
    lines += ["", f"| values | compared | runs | {heads} |", "| --- | --- |" + " ---: |" * 5]
    lines += [_powers(row) for row in rows if row.runs in {10, 25}]
    return "\n".join(lines) + "\n"


def _powers(row: Row) -> str:
    seen = " | ".join(f"{100 * count / row.comparisons:.0f} %" for count in row.seen)
    return f"| {row.values} | {row.way} | {row.runs} | {seen} |"
