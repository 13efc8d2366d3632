"""The page of measured comparisons, from the stored results of the benchmark."""

from benches.comparisons import (
    COMPARISONS,
    MEANING,
    Row,
    load,
    queue_table,
    table,
)

OPENING = f"""# Comparisons: error rates of verdicts

Each line stands for {COMPARISONS:,} simulated comparisons of two systems, judged by the shipped
analysis at 95%. The standard error of a line is half a point at 5%, and one point at 50%.
`make bench PART=comparisons` measures all again in about two minutes of one core;
`python -m benches.comparisons --print` prints the stored tables.

- *False alarms*: equal systems, of which one is called larger; the promise is at most 5%.
- *Sees 10%*: one takes 10% longer, and is called so.
- *Same if equal*: equal systems are called the same within the default `same_within` of 5%.
- *Blocks*: runs of one block are pairs, judged by signed ranks. *Apart*: the levels were not
  interleaved, and the medians are compared
  ([Statistics](../background/statistics.md#comparing-the-levels-of-a-factor)).
"""

READING = """## How to read it

- **10 blocks** nearly always see a difference of twice the scatter of one run; 25 see one as
  large as the scatter in nine of ten cases. The former method, the order statistics of the
  ratios, needed 40.
- **Drift** costs blocks nothing, and almost everything without them.
- **Outliers** cost blocks more than medians, because either run of a pair may have one: without
  drift, medians see 10 to 20% more often. If a program stalls now and then, measure more.
- **Calling two systems the same** within 5% takes far more runs than seeing a difference of 10%.
"""

QUEUES = """## Simulated systems with common seeds

A what-if result is the ratio of two means, from pairs of runs with the same seeds. Signed ranks
would be wrong there: the mean of a short run of a queue is skewed, so the typical ratio of two runs
is not the ratio of the means, and the error grows with the number of pairs. The table counts how
often an interval misses the exact ratio of the mean response times of two M/M/1 queues at load 0.8,
one with a server that is 5% faster; 5% would be right. A report marks such short runs.
"""


def comparisons() -> str:
    """Return the page."""
    rows, queues = load()
    legend = "\n".join(f"- *{name}*: {text}." for name, text in MEANING.items())
    parts = [
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
    """Return the extremes of the false alarms."""
    lines = [
        "## In short\n",
        "| compared | lines | lowest false alarms | highest |",
        "| --- | ---: | ---: | ---: |",
    ]
    for way in ("blocks", "apart"):
        shares = [row.false_alarms / row.comparisons for row in rows if row.way == way]
        lines.append(
            f"| {way} | {len(shares)} | {100 * min(shares):.1f}% | {100 * max(shares):.1f}% |"
        )
    return "\n".join(lines) + "\n"
