"""The page of measured coverage, from the stored results of the benchmark."""

from collections.abc import Sequence

from benches import terminating
from benches.coverage import Row, load, table
from headroom.analysis.run.rare import RARE_SUFFIX
from scripts.reference.tables import NOTICE

REQUIRED = (0.92, 0.98)
"""Coverage of the nominal 95% interval that is required at 50,000 completions."""

FEWEST_EXPERIMENTS = 50
"""Experiments of a line below which it counts for nothing: p99.9 that few runs report."""

KINDS = ("means", "p95", "p99", "p99.9")

OPENING = """# Coverage: how often the 95% interval is right

An interval that is called 95% should contain the truth in 95 of 100 cases. Whether it does can
only be measured: with models whose answer is known on paper, and many independent experiments.
Here each line stands for as many of them as its column *of* says, each put through the whole
analysis as it is shipped, warm-up and all, with seeds on which nothing was chosen.
`make bench PART=coverage` measures all anew with 400 each, in about half an hour of two cores;
`python -m benches.coverage --print` prints the stored table.

How the intervals are made is told in [Statistics](../background/statistics.md), what to do with a
short run in [Can I trust this number?](../guides/can-i-trust-this-number.md).
"""

WARNED = """Runs that are not called short on an unsound line cover least: by chance they hold fewer
long bursts than they should, so they seem long enough, and these are the runs that miss. A line
near 92% is on one side of the border or the other by chance.
"""

ACCOUNT = """## What is chance

Coverage is itself an estimate. With 400 experiments its standard error is one point, so of a
hundred lines with a true 95% a few show 92% or 98%; with 120 it is two points. All lines of
one setting come from the same runs, and the metrics of a model go together: where chance hits, it
hits several at once. The column *95% of it* is the interval of the coverage (Clopper and Pearson
1934).

What is not chance shows in the estimates themselves. An interval misses because the estimate is
biased, because its stated error is not that of the estimates, or because they are skewed in another
way. `python -m benches.probes.coverage_causes "M/M/1, load 0.9" "5 x 10,000" 600` prints all three
for one model and setting, on seeds of its own.

## Where it falls short, and why

- **Few bursts.** A run without a long burst says too little and seems sure, and nothing in it
  tells. What counts is how many independent bursts the runs hold: 50,000 completions of M/M/1 have
  enough beyond p99 at a load of 0.8, but not at 0.9. Below six the report says that the runs are
  short for a percentile; below four its interval has no bound above, so it is wide.
- **Heavy tails.** The mean of a queue whose service times have a coefficient of variation of 3
  rests on services that most short runs never see. The shape of their tail shows it all the same.
- **Many short replications.** Each must first forget its empty start. Twenty runs of 2,500 spend a
  good part of their length on that; one long run or a few are the better use of the same budget.
  At high loads a few experiments in a hundred have no steady state by MSER, so they get no
  interval at all and count as not covered here: an answer refused, not a wrong one.
- **Stopping by precision.** A rule that stops when the interval is narrow prefers the moments when
  it is too narrow by chance. Looking only at numbers of replications that grow by half keeps that
  loss small.
"""

COLUMNS = """## All lines

*Coverage*: share of the experiments whose interval contains the truth. *Of*: how many
experiments. *Half-width*: of the interval, on average, relative to the truth. *Efficiency*: that
half-width over 1.96 standard deviations of the estimates, which is what an interval would need that
knew them; 1 is the best possible. *Bias*: mean of the estimates, relative to the truth. *Short*:
share of the experiments whose runs were called too short for the metric. A star marks metrics
without a formula; their truth is the mean of all long runs of the table.
"""


TERMINATING = f"""
## Runs with a natural end

Coverage of terminating runs: queues that start empty and end at a given time, with services of 1 s
on average. Each line stands for {terminating.REPLICATIONS:,} replications in disjoint groups of n;
the truth is that of all of them. *Pooled*: the percentile of all responses of a group together,
with its sectioning interval. It is not reported, because it covers too little where the load comes
near the capacity. Means and medians near the capacity cover less than 95% too: Student's interval
is symmetric, and a few replications of a long queue are skewed.
`python -m benches.terminating` measures all anew in four minutes of a core.
"""


def coverage() -> str:
    """Return the page."""
    lines = load()
    parts = [NOTICE, OPENING, _in_short(lines), warnings(lines), ACCOUNT, COLUMNS, table(lines)]
    parts += [TERMINATING, terminating.table(terminating.load())]
    return "\n".join(parts) + "\n"


def _in_short(lines: Sequence[Row]) -> str:
    """Return coverage and efficiency by setting: lowest, median and highest of all models."""
    names = (
        "runs x completions, metrics, lines, lowest, median, highest, in 92-98%, "
        "median efficiency, worst"
    )
    rows = ["## In short", "", f"| {names.replace(', ', ' | ')} |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for setting in dict.fromkeys(line.setting for line in lines):
        for kind in KINDS:
            chosen = [
                line
                for line in lines
                if line.setting == setting
                and _kind(line.metric) == kind
                and line.experiments >= FEWEST_EXPERIMENTS
            ]
            if chosen:
                rows.append(f"| {setting} | {kind} | {_cells(chosen)} |")
    return "\n".join(rows) + "\n"


def _kind(metric: str) -> str:
    """Return whether a metric is a mean or which percentile.

    Examples
    --------
    >>> _kind("response_s_p99_9"), _kind("throughput")
    ('p99.9', 'means')
    """
    found = [kind for kind in KINDS if metric.endswith(f"_{kind.replace('.', '_')}")]
    return found[0] if found else "means"


def _cells(lines: Sequence[Row]) -> str:
    low, high = REQUIRED
    shares = sorted(line.coverage for line in lines)
    known = sorted(line.efficiency for line in lines)
    efficiency = f"{known[len(known) // 2]:.2f} | {known[-1]:.2f}"
    within = sum(low <= share <= high for share in shares)
    middle = len(lines) // 2
    return (
        f"{len(shares)} | {100 * shares[0]:.1f}% | {100 * shares[middle]:.1f}% | "
        f"{100 * shares[-1]:.1f}% | {within} of {len(shares)} | {efficiency}"
    )


def warnings(lines: Sequence[Row]) -> str:
    """Return how often the warning of short runs is right, over all lines of response times."""
    judged = [line for line in lines if _is_judged(line)]
    low = REQUIRED[0]
    rows = [
        "## Is the warning right?",
        "",
        f"A line is *unsound* where it covers less than {100 * low:.0f}%. There the runs should "
        f"be called short, elsewhere not. Of the {len(judged)} lines of response times:",
        "",
        "| lines | number | experiments called short | those cover | the others cover |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, is_sound in (("unsound", False), ("sound", True)):
        chosen = [line for line in judged if (line.coverage >= low) == is_sound]
        rows.append(f"| {name} | {len(chosen)} | {_called(chosen)} | {_covered(chosen)} |")
    rows += ["", "| model | unsound lines | called short | sound lines | called short |",
             "| --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for model in dict.fromkeys(line.model for line in judged):
        own = [line for line in judged if line.model == model]
        bad = [line for line in own if line.coverage < low]
        good = [line for line in own if line.coverage >= low]
        rows.append(f"| {model} | {len(bad)} | {_called(bad)} | {len(good)} | {_called(good)} |")
    return "\n".join([*rows, "", WARNED])


def _is_judged(line: Row) -> bool:
    """Return whether runs may be called short for a line: p99.9 is left out instead."""
    return "response_s" in line.metric and not line.metric.endswith(RARE_SUFFIX)


def _called(lines: Sequence[Row]) -> str:
    """Return the share of the experiments of some lines whose runs were called short."""
    of = sum(line.experiments for line in lines)
    return f"{100 * sum(line.short for line in lines) / of:.0f}%" if of else ""


def _covered(lines: Sequence[Row]) -> str:
    """Return the coverage of the experiments that were called short, and of the others."""
    short = sum(line.short for line in lines)
    held = sum(line.short_covered for line in lines)
    others = sum(line.experiments for line in lines) - short
    held_else = sum(line.covered for line in lines) - held
    parts = [(held, short), (held_else, others)]
    return " | ".join(f"{100 * one / of:.0f}% of {of:,}" if of else "" for one, of in parts)
