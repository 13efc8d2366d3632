"""Draw what a query costs, by way: `make pictures` writes docs/pictures/catalogue.svg."""

from pathlib import Path

from benches.catalogue import COST, ONE_SHOT, RESULTS
from benches.harness import Row, read_rows
from benches.metadata.bills import CASE_1, WAYS
from headroom.report.figures.axes import linear_axis
from headroom.report.figures.draw import LEAD_PX
from headroom.report.figures.files import svg_file
from headroom.report.figures.inputs import Bar, Bars

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "catalogue.svg"
TITLE = "Processor time of a query in all processes; lower is better"


def bars_of(rows: list[Row]) -> Bars:
    """Return a bar for each way to carry out a one-shot query."""
    found = {row.peer: row for row in rows if (row.case, row.metric) == ("query", COST)}
    first = next(iter(found.values()))
    bars = [_bar(CASE_1, first.headroom, first.headroom_range)]
    for name in WAYS:
        row = found.get(f"{ONE_SHOT}: {name}")
        if row and row.peer_value is not None and row.peer_range is not None:
            bars.append(_bar(name, row.peer_value, row.peer_range))
    ends = [bar.high or bar.value for bar in bars]
    return Bars(x=linear_axis(ends, "processor time of a query (us)"), bars=tuple(bars))


def _bar(name: str, value_s: float, range_s: tuple[float, float]) -> Bar:
    low, high = (1e6 * bound for bound in range_s)
    value = 1e6 * value_s
    text = f"{float(f'{value:.3g}'):,.0f}"
    return Bar(
        label=name,
        value=value,
        text=text,
        role="data" if name.startswith("case") else "context",
        low=low,
        high=high,
    )


def write_picture() -> Path:
    """Write the picture of the stored results."""
    picture = svg_file(bars_of(read_rows(RESULTS)), TITLE, LEAD_PX)
    PICTURE.write_text(picture, encoding="utf-8")
    return PICTURE
