"""Words that a study gives to its metrics, parts, parameters and their levels.

They hold while one study is rendered: a label is looked up from everywhere that prints a name.
Threads and nested renderings do not see each other's.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import Concatenate, ParamSpec, TypeVar

from headroom.analysis.results import StudyResult
from headroom.experiment.protocol.system import Value
from headroom.quantities import format_level

_TITLES: ContextVar[Mapping[str, str | Mapping[str, str]]] = ContextVar(
    "titles", default=MappingProxyType({})
)
_Options = ParamSpec("_Options")
_Text = TypeVar("_Text")


@contextmanager
def study_titles(titles: Mapping[str, str | Mapping[str, str]]) -> Iterator[None]:
    """Use the words of a study.

    Examples
    --------
    >>> with study_titles({"throughput": "calls a second", "case": {"1": "direct TLS"}}):
    ...     title_of("throughput"), level_title("case", 1), level_title("case", 2)
    ('calls a second', 'direct TLS', '')
    >>> title_of("throughput")
    ''
    """
    token = _TITLES.set(titles)
    try:
        yield
    finally:
        _TITLES.reset(token)


def in_words_of_study(
    render: Callable[Concatenate[StudyResult, _Options], _Text],
) -> Callable[Concatenate[StudyResult, _Options], _Text]:
    """Return a function that renders a study, so that it uses the words of the study."""

    @wraps(render)
    def rendered(
        result: StudyResult, /, *options: _Options.args, **named: _Options.kwargs
    ) -> _Text:
        with study_titles(result.titles):
            return render(result, *options, **named)

    return rendered


def title_of(name: str) -> str:
    """Return the words for a metric, part or parameter; empty if the study gives none."""
    found = _TITLES.get().get(name, "")
    return found if isinstance(found, str) else ""


def level_title(factor: str, level: Value) -> str:
    """Return the words for a level of a parameter; empty if the study gives none."""
    found = _TITLES.get().get(factor, {})
    return "" if isinstance(found, str) else found.get(format_level(level), "")
