"""The page of the measured coverage: printed from the stored results of the benchmark."""

from collections.abc import Sequence

from benches.coverage import EXPERIMENTS, Row, load, table
from scripts.reference.tables import NOTICE

REQUIRED = (0.92, 0.98)
"""Coverage of the nominal 95 % interval that is required at 50,000 completions."""

OPENING = f"""# Coverage: how often the 95 % interval is right

An interval that is called 95 % should contain the truth in 95 of 100 cases. Whether it does can
only be measured: with models whose answer is known on paper, and many independent experiments.
Here each line stands for {EXPERIMENTS} of them or more, as its column *of* says, each put through
the whole analysis as it is shipped, warm-up and all, with seeds on which nothing was chosen.
`make bench PART=coverage` measures all anew, which takes about half an hour of two cores;
`python -m benches.coverage --print` prints the stored table.

How the intervals are made is told in [Statistics](../background/statistics.md), what to do with a
short run in [Can I trust this number?](../guides/can-i-trust-this-number.md).
"""

ACCOUNT = """## What is chance

Coverage is itself an estimate. With 400 experiments its standard error is one point, so of a
hundred lines with a true 95 % a few show 92 % or 98 %; with 2,000 it is half a point. All lines of
one setting come from the same runs, and the metrics of a model go together: where chance hits, it
hits several at once. The first 400 experiments of one long run with two classes cover the mean
responses in 91 and 92 %; the 2,000 of the table, these among them, in 94.5 %. The column *95 % of
it* is the interval of the coverage (Clopper and Pearson 1934).

What is not chance shows in the estimates themselves. An interval misses because the estimate is
biased, because its stated error is not that of the estimates, or because they are skewed in another
way. `python -m benches.probes.coverage_causes "M/M/1, load 0.9" "5 x 10,000" 600` prints all three
for one model and setting, on seeds of its own. The figures below are from there.

## Where it falls short, and why

- **Short runs.** What counts is the length in *correlation times*. For the number of jobs of M/M/1
  at load u one is 2 (1 + u) / (1 - u)² service times: 90 at a load of 0.8, 380 at 0.9. So 50,000
  completions are about 700 of them at 0.8 and only 150 at 0.9. There a single run covers up to one
  point less than it says. Bias is not the cause (a twentieth of the standard deviation), nor the
  size of the error (the stated variance is 0.95 of the true one): both move together, so a run
  without a long burst says too little and seems sure, and nothing in it tells. Of the misses, three
  quarters lie below the truth. Five times the run is enough. Below 100 correlation times the report
  says that a run is short, and how many completions would do; since the correlation time is itself
  estimated, one run in four is told so at 150.
- **p99 of a busy queue.** It hangs on a handful of long bursts, and their number is what a run must
  have, not that of the completions. At load 0.9 and 50,000 completions in all it covers 90 to 94 %,
  and what it misses lies below the interval as a rule: five runs of 10,000 put 5.0 % of the
  intervals above the truth and 2.8 % below. One long burst lifts the estimate, and the skewness
  that is stated (2.5; the estimates have 2.1) then shortens the interval on the side where the
  truth is. The stated variance is 0.6 of the true one. In longer runs, and at load 0.8, the stated
  variance and skewness are too large instead, and the intervals are wider than they need be: 96 to
  98 %. Both come from one cause, too few bursts to tell how much they vary.
- **Many short replications.** Each must first forget its empty start. Twenty runs of 2,500 spend a
  good part of their length on that; one long run or a few are the better use of the same budget.
  At load 0.9 two or three experiments in a hundred have no steady state by MSER, so they get no
  interval at all and count as not covered here: an answer refused, not a wrong one.
- **Stopping by precision.** A rule that stops when the interval is narrow prefers the moments when
  it is too narrow by chance. Looking only at numbers of replications that grow by half keeps that
  loss small.
- **Closed models** cover a little more than they say. Jobs under way at the edge of a batch count
  in the next one, so neighbouring batches balance each other, and the variance that they state is a
  tenth larger than that of the whole.
"""

COLUMNS = """## All lines

*Coverage*: share of the experiments whose interval contains the truth. *Of*: how many
experiments. *Half-width*: of the interval, on average, relative to the truth. *Bias*: mean of the
estimates, relative to the truth. *Short*: share of the experiments whose runs were called too short
by the analysis. A star marks metrics without a formula; their truth is the mean of all long runs of
the table.
"""


def coverage() -> str:
    """Return the page."""
    lines = load()
    parts = [NOTICE, OPENING, _in_short(lines), ACCOUNT, COLUMNS, table(lines)]
    return "\n".join(parts) + "\n"


def _in_short(lines: Sequence[Row]) -> str:
    """Return coverage by setting: lowest, median and highest of all models."""
    names = "runs x completions, metrics, lines, lowest, median, highest, in 92-98 %"
    rows = ["## In short", "", f"| {names.replace(', ', ' | ')} |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for setting in dict.fromkeys(line.setting for line in lines):
        for kind in ("means", "p95", "p99"):
            shares = sorted(
                line.coverage
                for line in lines
                if line.setting == setting and _kind(line.metric) == kind
            )
            if shares:
                rows.append(f"| {setting} | {kind} | {_cells(shares)} |")
    return "\n".join(rows) + "\n"


def _kind(metric: str) -> str:
    """Return whether a metric is a mean or which percentile."""
    return metric[-3:] if metric[-3:] in {"p95", "p99"} else "means"


def _cells(shares: Sequence[float]) -> str:
    low, high = REQUIRED
    within = sum(low <= share <= high for share in shares)
    middle = shares[len(shares) // 2]
    return (
        f"{len(shares)} | {100 * shares[0]:.1f} % | {100 * middle:.1f} % | "
        f"{100 * shares[-1]:.1f} % | {within} of {len(shares)}"
    )
