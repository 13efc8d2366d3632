"""The page of measured prediction intervals, from the stored results."""

from collections.abc import Sequence

from benches.predictions import CASES, EVIDENCE, RATE, TIME, Row, load, table
from benches.real_systems.judge import by_system, named, stored, summary

REAL = """# Predictions: how far off, and how often their intervals hold

## Real systems

Servers whose limit is known by construction, under closed clients: the fit of a burst without think
time, and of points below half of the knee, predicts 0.9, 1, 1.3 and 2 times the knee (clients /
think time over the throughput of the burst), which was measured in turn with them. *Others*: share
of the processors that other programs took. *Half-width*: of the interval, relative to the
prediction. *Identical runs*: half of the range of three runs of the same point. The machine has two
processors, which load program and server share.
`python -m benches.real_systems FOLDER` measures all again, in about 80 minutes; `--print` prints
the stored tables.

"""

OPENING = f"""## Simulated servers

A model with one constant demand is fitted to a server whose demand changes with its load, and
predicts unmeasured loads. The servers are simulated, so the truth is known. Each line stands for
{CASES} servers of each family. `python -m benches.predictions` measures all again, in about three
minutes of processor time; `--print` prints the stored table.

- *Observed laws*: a demand that falls with utilization and rises with clients, wake-up from idle,
  batching, group commit, a hot row, as on the systems of the published errors in
  [Fit and predict](../guides/fit-and-predict.md). *Other laws* were not observed: cores that two
  threads share, coherency (Gunther's law), a cache that clients fill.
- *Knee*: clients / think time is the saturated throughput. *Twice*: twice that. *No think*: all
  clients at once.
- Measurements scatter by 3%; neighbours change the demand by 15% between measurement and test,
  by 5% if both alternate.
- The published errors come from real systems, none of them fitted to these servers. The rules that
  infer the kind of evidence were adjusted on smaller runs of the same families, with other seeds.
"""

ACCOUNT = """### Where it falls short

- **Observed laws at the knee and at twice the load, from processor time**: 90%. Locks and flushes
  take no processor time, so low load does not show them. A burst with the target clients does.
- **Laws that change the demand little**: the interval of low load is far wider than the errors,
  because it also covers systems with hot rows, whose predictions were off three to six times, and
  which low load cannot identify. Measure a burst instead of narrowing it.
- **Response times below saturation** depend on the demand much more than the throughput, so their
  intervals are wider.
- The shares depend on the servers and changes chosen here. Your system has its own.
"""

COLUMNS = """### All lines

- *X held*, *R held*: intervals of throughput and response time that contain the truth.
- *Width*: median half-width as a factor either way: 2 means from half to double. *Error*: median
  error, as a factor too. *Refused*: cases in which the fit gave no parameters.
- *Left out*: the factor that 95% of the errors of all other families stay within, a published error
  made from this page; the last column is how often it holds the family left out.
"""


def predictions() -> str:
    """Return the page."""
    lines = load()
    cases = {line.families: line.cases for line in lines}
    counts = " or ".join(f"{count} cases of {families}" for families, count in cases.items())
    columns = f"{COLUMNS}- Each line has {counts}.\n"
    simulated = [OPENING, _in_short(lines), ACCOUNT, columns, table(lines)]
    return REAL + "\n".join([*_real(), *simulated]) + "\n"


def _real() -> list[str]:
    rows = [row for case in stored().values() for row in case]
    return [*summary(rows), "", named(rows), "", *by_system(rows), ""]


def _in_short(lines: Sequence[Row]) -> str:
    """Return one line for each kind of measurement."""
    heads = "measured before, cases, refused, X held, R held, median width of X without think time"
    rows = ["### In short", "", f"| {heads.replace(', ', ' | ')} |",
            "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for evidence in EVIDENCE:
        own = [line for line in lines if line.evidence == evidence.name]
        cases, refused = sum(row.cases for row in own), sum(row.refused for row in own)
        cells = [evidence.name, str(cases), str(refused)]
        if cases > refused:
            cells += [_share(own, RATE), _share(own, TIME), _width(own)]
        else:
            cells += ["", "", ""]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _share(lines: Sequence[Row], metric: str) -> str:
    held, predicted = (
        sum(line.held[metric] for line in lines),
        sum(line.predicted for line in lines),
    )
    return f"{100.0 * held / predicted:.1f}%"


def _width(lines: Sequence[Row]) -> str:
    widths = [line.width[RATE] for line in lines if line.load == "no think"]
    return f"{min(widths):.2f} to {max(widths):.2f}"
