"""The page of the measured coverage: printed from the stored results of the benchmark."""

from collections.abc import Sequence

from benches.coverage import EXPERIMENTS, Row, load, table
from scripts.reference.tables import NOTICE

REQUIRED = (0.92, 0.98)
"""Coverage of the nominal 95 % interval that is required at 50,000 completions."""

OPENING = f"""# Coverage: how often the 95 % interval is right

An interval that is called 95 % should contain the truth in 95 of 100 cases. Whether it does can
only be measured: with models whose answer is known on paper, and many independent experiments.
Here each line stands for {EXPERIMENTS} of them, each put through the whole analysis as it is
shipped, warm-up and all, with seeds on which nothing was chosen. `make bench PART=coverage`
measures all anew, which takes about half an hour of two cores; `python -m benches.coverage
--print` prints the stored table.

How the intervals are made is told in [Statistics](../background/statistics.md), what to do with a
short run in [Can I trust this number?](../guides/can-i-trust-this-number.md).
"""

ACCOUNT = """## Where it falls short, and why

- **Short runs.** What counts is the length in *correlation times*. For the number of jobs of M/M/1
  at load u one is 2 (1 + u) / (1 - u)² service times: 90 at a load of 0.8, 380 at 0.9. So 50,000
  completions are about 700 of them at 0.8 and only 150 at 0.9. There a single run covers one or two
  points less than it says, and what it misses lies above the interval: a run without a long burst
  says too little, and nothing in it tells. Five times the run is enough. Below 100 correlation
  times the report says that a run is short, and how many completions would do; since the
  correlation time is itself estimated, one run in four is told so at 150.
- **Percentiles far out.** The p99 of a busy queue hangs on a handful of long bursts. Their number
  is what a run must have, not that of the completions. Its interval is wide for that reason, and
  where it still misses, the truth lies above it: the burst that was not seen.
- **Many short replications.** Each must first forget its empty start. Twenty runs of 2,500 spend a
  good part of their length on that; one long run or a few are the better use of the same budget.
- **Two classes, one long run.** Their mean waits lie about 92 % here, although as many correlation
  times are enough elsewhere. On the seeds that chose the method the same lines showed 94 to 95 %;
  both together leave a true coverage of about 93 %. Two of these runs have no steady state by MSER
  and count as not covered.
- **Stopping by precision.** A rule that stops when the interval is narrow prefers the moments when
  it is too narrow by chance. Looking only at numbers of replications that grow by half keeps that
  loss small.
- **Closed models** cover more than they say, up to 99 %. Jobs under way at the edge of a batch
  count in the next one, so neighbouring batches balance each other, and their spread is larger
  than that of the whole.
- Coverage itself is an estimate: with 400 experiments its standard error is one point, so of a
  hundred lines with a true 95 % a few show 92 % or 98 %. The column *95 % of it* is the interval
  of the coverage (Clopper and Pearson 1934).
"""

COLUMNS = """## All lines

*Coverage*: share of the experiments whose interval contains the truth. *Half-width*: of the
interval, on average, relative to the truth. *Bias*: mean of the estimates, relative to the truth.
*Short*: share of the experiments whose runs were called too short by the analysis. A star marks
metrics without a formula; their truth is the mean of all long runs of the table.
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
