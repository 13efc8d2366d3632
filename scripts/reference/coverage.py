"""The page of measured coverage, from the stored results of the benchmark."""

from collections.abc import Sequence

from benches import terminating
from benches.coverage import SIGN, Row, load, table
from headroom.analysis.run.rare import RARE_SUFFIX

REQUIRED = (0.92, 0.98)
"""Coverage of the nominal 95% interval that is required at 50,000 completions."""

FEWEST_EXPERIMENTS = 50
"""Experiments of a line below which it counts for nothing: p99.9 that few runs report."""

KINDS = ("means", "p95", "p99", "p99.9")

OPENING = """# Coverage: how often the 95% interval is right

An interval that is called 95% should contain the truth in 95 of 100 cases. Each line is a
measurement of that: many independent experiments (column *of*) on a model with a known answer, put
through the analysis as shipped, warm-up included, on seeds on which nothing was chosen.
`make bench PART=coverage` measures all again with 400 each, in about half an hour of two cores;
`python -m benches.coverage --print` prints the stored table.

[Statistics](../background/statistics.md) explains how the intervals are made,
[Can I trust this number?](../guides/can-i-trust-this-number.md) what to do with a short run.
"""

WARNED = """Runs that are not called short on an unsound line cover least: by chance they hold too
few long bursts, so they seem long enough. A line near 92% is on either side by chance.
"""

ACCOUNT = """## What is chance

Coverage is an estimate too, with a standard error of one point for 400 experiments and two for 120:
of a hundred lines with a true 95%, a few show 92% or 98%. All lines of one setting come from the
same runs, and the metrics of a model are correlated, so chance hits several at once. *95% of it* is
the interval of the coverage (Clopper and Pearson 1934).

Apart from chance, an interval misses if the estimate is biased, its stated error is wrong, or the
estimates are skewed. `python -m benches.probes.coverage_causes "M/M/1, load 0.9" "5 x 10,000" 600`
prints all three for one model and setting, on other seeds.

## Where it falls short, and why

- **Few bursts.** A run without a long burst seems precise. The number of independent bursts
  decides: 50,000 completions of M/M/1 have enough beyond p99 at a load of 0.8, but not at 0.9.
  Below six the report calls the runs short for a percentile; below four its interval has no upper
  bound.
- **Heavy tails.** The mean of a queue whose service times have a coefficient of variation of 3
  depends on services that most short runs never contain. The shape of their tail shows it.
- **Many short replications.** Each must first forget its empty start, which takes a good part of
  twenty runs of 2,500; a few long runs use the same budget better. At high loads a few
  experiments in a hundred have no steady state by MSER, so they get no interval and count as not
  covered here.
- **Stopping by precision.** A rule that stops when the interval is narrow prefers intervals that
  are too narrow by chance. Looking only at numbers of replications that grow by half limits that.
"""

COLUMNS = """## All lines

| column | meaning |
| --- | --- |
| *runs* | replications and completions of each, or the precision that ends them |
| *coverage* | share of the experiments whose interval contains the truth |
| *of* | experiments |
| *half-width* | of the interval, on average, relative to the truth |
| *efficiency* | half-width over 1.96 standard deviations of the estimates; 1 is the best possible |
| *bias* | mean of the estimates, relative to the truth |
| *short* | share of the experiments whose runs were called too short for the metric; empty: none |

Metrics with a star have no formula; their truth is the mean of all long runs of the table.
"""


TERMINATING = f"""
## Runs with a natural end

Queues that start empty and end at a given time, with services of 1 s on average. Each line has
{terminating.REPLICATIONS:,} replications in disjoint groups of n; the truth is that of all of them.
*Pooled*: the percentile of all responses of a group together, with its sectioning interval; it is
not reported, because it covers too little near the capacity. Means and medians also cover less than
95% there: Student's interval is symmetric, and a few replications of a long queue are skewed.
`python -m benches.terminating` measures all again in four minutes of a core.
"""


def coverage() -> str:
    """Return the page."""
    lines = load()
    parts = [OPENING, _in_short(lines), warnings(lines), ACCOUNT, COLUMNS, table(lines)]
    parts += [TERMINATING, terminating.table(terminating.load())]
    return "\n".join(parts) + "\n"


def _in_short(lines: Sequence[Row]) -> str:
    """Return coverage and efficiency by setting: lowest, median and highest of all models."""
    names = "runs, metrics, lines, lowest, median, highest, in 92-98%, median efficiency, worst"
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
                rows.append(f"| {setting.replace(' x ', SIGN)} | {kind} | {_cells(chosen)} |")
    return "\n".join(rows) + "\n"


def _kind(metric: str) -> str:
    """Return whether a metric is a mean or which percentile.

    Examples
    --------
    >>> _kind("response_s_p99_9"), _kind("throughput")
    ('p99.9', 'means')
    """
    kinds = [kind for kind in KINDS if metric.endswith(f"_{kind.replace('.', '_')}")]
    return kinds[0] if kinds else "means"


def _cells(lines: Sequence[Row]) -> str:
    low, high = REQUIRED
    shares = sorted(line.coverage for line in lines)
    known = sorted(line.efficiency for line in lines)
    efficiency = f"{known[len(known) // 2]:.2f} | {known[-1]:.2f}"
    within = sum(low <= share <= high for share in shares)
    middle = len(lines) // 2
    return (
        f"{len(shares)} | {100 * shares[0]:.1f}% | {100 * shares[middle]:.1f}% | "
        f"{100 * shares[-1]:.1f}% | {within} | {efficiency}"
    )


def warnings(lines: Sequence[Row]) -> str:
    """Return how often the warning of short runs is right, over all lines of response times."""
    judged = [line for line in lines if _is_judged(line)]
    low = REQUIRED[0]
    rows = [
        "## Is the warning right?",
        "",
        f"A line is *unsound* if it covers less than {100 * low:.0f}%: its runs should be called "
        f"short, others not. Of the {len(judged)} lines of response times:",
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
    return " | ".join(f"{100 * covered / of:.0f}% of {of:,}" if of else "" for covered, of in parts)
