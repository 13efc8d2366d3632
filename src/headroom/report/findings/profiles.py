"""Small charts of the profiles of a fit: a curve on the page, a sparkline in a terminal.

Invariant: restates `FitProfile`; a value is refuted where the picture is above the line at 1.
"""

import math
from itertools import pairwise

from headroom.analysis.results import ExperimentResult, FitProfile
from headroom.quantities import choose_scale, format_given
from headroom.report.charts.panel import Panel
from headroom.report.figures.axes import linear_axis, log_axis
from headroom.report.figures.inputs import Curve, Dot, Line, Reference
from headroom.report.terminal.screen import Screen
from headroom.report.words import axis_title

HIGHEST = 2.0
"""Rise at which a picture ends: twice that which refutes a value."""
_BLOCKS = "▁▂▃▄▅▆▇█"
_SIGNS = "_.:-=+*#"
_COLUMNS = 32


def profiles_of(experiment: ExperimentResult) -> list[FitProfile]:
    """Return the profiles of all sets of an experiment that are worth a picture."""
    fit = experiment.fit
    if fit is None:
        return []
    found = [*fit.profiles, *(profile for one in fit.sets for profile in one.profiles)]
    return [one for one in found if len(one.values) > 1 and one.values[0] < one.values[-1]]


def _shares(profile: FitProfile) -> list[float]:
    """Return where each value lies between the ends of the picture, 0 to 1."""
    is_log = profile.values[0] > 0.0
    places = [math.log(value) if is_log else value for value in profile.values]
    return [(place - places[0]) / (places[-1] - places[0]) for place in places]


def _rise_at(profile: FitProfile, share: float) -> float:
    """Return the rise at a place of the picture, between the scanned values on a straight line."""
    pairs = zip(pairwise(_shares(profile)), pairwise(profile.rises), strict=True)
    for (left, right), (low, high) in pairs:
        if share <= right and right > left:
            return low + (high - low) * (share - left) / (right - left)
    return profile.rises[-1]


def sparkline(profile: FitProfile, *, is_unicode: bool) -> str:
    """Return a profile as a line of signs; the highest one marks refuted values.

    Examples
    --------
    >>> curve = FitProfile(name="d", unit="s", values=[1.0, 2.0, 4.0], rises=[2.0, 0.0, 2.0])
    >>> sparkline(curve, is_unicode=False)
    '########*+==-:.__.:-==+*########'
    """
    signs = _BLOCKS if is_unicode else _SIGNS
    rises = [_rise_at(profile, place / (_COLUMNS - 1)) for place in range(_COLUMNS)]
    return "".join(signs[min(int(rise * (len(signs) - 1)), len(signs) - 1)] for rise in rises)


def render_profiles(experiment: ExperimentResult, screen: Screen) -> None:
    """Print one line for each profile: its ends, and how the fit gets worse between them."""
    is_unicode = screen.console.encoding.lower().startswith("utf")
    for number, profile in enumerate(profiles_of(experiment)):
        low, high = _ends(profile)
        text = f"{profile.name} {low} {sparkline(profile, is_unicode=is_unicode)} {high}"
        screen.item("" if number else "Profile", text)


def _ends(profile: FitProfile) -> tuple[str, str]:
    low, high = (
        format_given(float(f"{value:.2g}"), profile.unit, metric=profile.name)
        for value in (profile.values[0], profile.values[-1])
    )
    return low, high


def profile_panels(experiment: ExperimentResult) -> list[Panel]:
    """Return a panel for each profile."""
    return [
        Panel(
            key=f"{experiment.name}-profile-{place}",
            title=f"Profile of {profile.name}",
            caption=_caption(profile),
            pictures={("", ""): _picture(profile)},
        )
        for place, profile in enumerate(profiles_of(experiment))
    ]


def _caption(profile: FitProfile) -> str:
    low, high = _ends(profile)
    return (
        f"Profile of {profile.name}, {low} to {high}: how much worse the best fit is with each "
        "value. Values above the dashed line are refuted."
    )


def _picture(profile: FitProfile) -> Curve:
    """Return a curve with the line that refutes a value, cut at the upper edge."""
    ends = [profile.values[0], profile.values[-1]]
    is_log = ends[0] > 0.0
    scale = choose_scale(ends, profile.unit, metric=profile.name)
    pairs = zip(profile.values, profile.rises, strict=True)
    at = [value * scale.factor for value in profile.values]
    return Curve(
        x=(log_axis if is_log else linear_axis)(at, axis_title(profile.name, scale)),
        y=linear_axis([0.0, HIGHEST], "worse by"),
        lines=(
            Line(
                label="",
                role="data",
                dots=tuple(
                    Dot(x=value * scale.factor, y=min(rise, HIGHEST), hint=f"{rise:.2g}")
                    for value, rise in pairs
                ),
            ),
        ),
        references=(Reference(y=1.0, label="refuted above"),),
    )
