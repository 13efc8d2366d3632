"""The date on which an experiment was measured, in one sentence."""

from datetime import datetime

from headroom.analysis.results import ExperimentResult
from headroom.report.words import count_noun


def measured_sentences(experiment: ExperimentResult) -> list[str]:
    """Return when the oldest and the newest replication was measured, and how many are reused."""
    measured = experiment.measured
    if measured is None:
        return []
    when = moment(measured.oldest)
    if moment(measured.newest) != when:
        when = f"{when} to {moment(measured.newest)}"
    session = "in one session"
    if measured.reused:
        session = f"{measured.reused:,} of them reused from earlier sessions"
    return [f"{count_noun(measured.count, 'replication')}, {when}; {session}."]


def moment(text: str) -> str:
    """Return an ISO time to the minute, any other text as it is.

    Examples
    --------
    >>> moment("2026-01-02T03:04:05.6Z")
    '2026-01-02 03:04 UTC'
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{found:%Y-%m-%d %H:%M} {found.tzname() or ''}".strip()
