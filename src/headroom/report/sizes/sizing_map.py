"""A map of a search as SVG: the configurations examined, and the verdict on each.

The first axis runs to the right, the second upwards. With a single axis, the marks form a row.
Verdicts differ in shape as well as in colour.

Invariant: every text is escaped; the picture needs no script and follows the colours of the page.
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from headroom.quantities import format_level
from headroom.report.words import join_words
from headroom.sizing.result import AxisUsed, SizingResult, Trial

_LABELS_AT_MOST = 16
_CELL, _LEFT, _BOTTOM, _TOP, _RIGHT = 34.0, 70.0, 46.0, 12.0, 20.0
_WIDEST = 620.0
_SIZE = 6.0


def draw_map(result: SizingResult) -> Markup:
    """Return the map of a search as an SVG element."""
    across = result.axes[0]
    upwards = result.axes[1] if len(result.axes) > 1 else None
    map_ = _Map(across, upwards)
    # Later looks at one cell lie on top; where a third axis hides there, the best is drawn last.
    trials = sorted(result.trail, key=lambda one: one.verdict == "meets")
    parts = [
        *map_.grid(),
        *(map_.mark(trial) for trial in trials),
        *([map_.ring(result.best)] if result.best else []),
    ]
    described = join_words([axis.name for axis in result.axes])
    return Markup(
        '<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" '
        'aria-label="Configurations over {described} and their verdicts" '
        'style="max-width:100%;height:auto" font-size="11" fill="var(--soft)">{parts}</svg>'
    ).format(
        width=map_.width, height=map_.height, described=described, parts=Markup("").join(parts)
    )


class _Map:
    """Places of levels on the picture."""

    def __init__(self, across: AxisUsed, upwards: AxisUsed | None) -> None:
        self._across = across
        self._upwards = upwards
        columns, rows = len(across.levels), 1 if upwards is None else len(upwards.levels)
        self._wide = min(_CELL, _WIDEST / columns)
        self._tall = min(_CELL, _WIDEST / rows)
        self._rows = rows
        self.width = _LEFT + columns * self._wide + _RIGHT
        self.height = _TOP + rows * self._tall + _BOTTOM

    def grid(self) -> Iterator[Markup]:
        """Yield the labels of both axes."""
        base = self.height - _BOTTOM
        for place in _evenly(len(self._across.levels)):
            yield _text(self._x(place), base + 16.0, format_level(self._across.levels[place]))
        yield _text((_LEFT + self.width) / 2.0, base + 36.0, self._across.name)
        if self._upwards is None:
            return
        for place in _evenly(len(self._upwards.levels)):
            label = format_level(self._upwards.levels[place])
            yield _text(_LEFT - 10.0, self._y(place) + 4.0, label, anchor="end")
        yield _text(14.0, (_TOP + base) / 2.0, self._upwards.name, is_upright=True)

    def mark(self, trial: Trial) -> Markup:
        """Return the mark of a configuration: what came of it, with its number as a tooltip."""
        x, y = self._place(trial)
        shape = {"meets": _circle, "fails": _cross, "undecided": _triangle}[trial.verdict](x, y)
        tip = f"No. {trial.number}: {trial.verdict} ({trial.how})"
        return Markup("<g>{shape}<title>{tip}</title></g>").format(shape=shape, tip=tip)

    def ring(self, trial: Trial) -> Markup:
        """Return a ring around the answer."""
        x, y = self._place(trial)
        return Markup(
            '<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="none" stroke="var(--ink)" '
            'stroke-width="1.5"/>'
        ).format(x=x, y=y)

    def _place(self, trial: Trial) -> tuple[float, float]:
        column = self._across.levels.index(trial.levels[self._across.name])
        if self._upwards is None:
            return self._x(column), self._y(0)
        return self._x(column), self._y(
            self._upwards.levels.index(trial.levels[self._upwards.name])
        )

    def _x(self, column: int) -> float:
        return _LEFT + (column + 0.5) * self._wide

    def _y(self, row: int) -> float:
        return _TOP + (self._rows - row - 0.5) * self._tall


def _evenly(count: int) -> Sequence[int]:
    step = -(-count // _LABELS_AT_MOST)
    return range(0, count, step)


def _text(
    x: float, y: float, text: str, *, anchor: str = "middle", is_upright: bool = False
) -> Markup:
    turn = f"rotate(-90 {x:.1f} {y:.1f})" if is_upright else ""
    return Markup(
        '<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" transform="{turn}">{text}</text>'
    ).format(x=x, y=y, anchor=anchor, turn=turn, text=text)


def _circle(x: float, y: float) -> Markup:
    return Markup('<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="var(--good)"/>').format(
        x=x, y=y, r=_SIZE
    )


def _cross(x: float, y: float) -> Markup:
    return Markup(
        '<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}M{a:.1f} {d:.1f}L{c:.1f} {b:.1f}" '
        'stroke="var(--bad)" stroke-width="2"/>'
    ).format(a=x - _SIZE, b=y - _SIZE, c=x + _SIZE, d=y + _SIZE)


def _triangle(x: float, y: float) -> Markup:
    return Markup('<path d="M{x:.1f} {top:.1f}l{w} {h}h-{twice}z" fill="var(--warn)"/>').format(
        x=x, top=y - _SIZE, w=_SIZE, h=2 * _SIZE, twice=2 * _SIZE
    )
