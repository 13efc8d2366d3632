"""A sentence as spans of text, of which those with an interval may be muted.

Invariant: the text of a sentence is that of its spans; an interval, and a number with its unit,
hold no space at which a line may break.
"""

from dataclasses import dataclass

from headroom.analysis.answer_evidence import Bounded
from headroom.quantities import (
    choose_scale,
    decimals_for,
    format_given,
    format_plain,
    half_width_of,
)

NO_BREAK = "\N{NO-BREAK SPACE}"
_START, _END = "\ue000", "\ue001"
"""Around an interval in a sentence under construction: signs of the private use area."""
AS_IS = "\ue002"
"""Before a name with which a sentence starts, so that it keeps its case."""
_WIDE = 4.0
"""Times that an interval spans from which each of its ends has digits of its own."""
MAX_WORDS = 20
"""Words of an answer."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a sentence."""

    text: str
    is_interval: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a title, which is a sentence without its full stop."""

    spans: tuple[Span, ...]

    @classmethod
    def of(cls, marked: str) -> "Sentence":
        r"""Return a sentence of a text in which `interval` marked the intervals.

        Examples
        --------
        >>> Sentence.of(f"it limits from 228 users {interval('224', '232')} on").spans[1]
        Span(text='(224\xa0to\xa0232)', is_interval=True)
        """
        spans = []
        marked = marked.replace(AS_IS, "")
        for piece in marked.split(_START):
            inside, end, rest = piece.partition(_END)
            if end:
                spans.append(Span(inside, is_interval=True))
            spans.append(Span(rest if end else piece))
        return cls(tuple(span for span in spans if span.text))

    @classmethod
    def verbatim(cls, text: str) -> "Sentence":
        """Return a sentence of a text that marks no intervals."""
        return cls((Span(text),))

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(span.text for span in self.spans)

    @property
    def title(self) -> "Sentence":
        """The sentence without its full stop."""
        *first, last = self.spans or (Span(""),)
        return Sentence((*first, Span(last.text.removesuffix("."), last.is_interval)))


def interval(low: str, high: str) -> str:
    """Return an interval, marked; the spaces inside never break."""
    return f"{_START}({low}{NO_BREAK}to{NO_BREAK}{high}){_END}"


def count_words(marked: str) -> int:
    """Return how many words a text has, intervals not counted.

    Examples
    --------
    >>> count_words(f"from 228 users {interval('224', '232')} on")
    4
    """
    spans = Sentence.of(marked).spans
    text = "".join(span.text for span in spans if not span.is_interval)
    return len(text.replace(NO_BREAK, " ").split())


def plain(name: str) -> str:
    """Return a name of a study without the signs that mark intervals here."""
    return name.replace(_START, "").replace(_END, "").replace(AS_IS, "")


def number(
    value: float, low: float | None, high: float | None, unit: str, *, metric: str = ""
) -> str:
    r"""Return a number in at most three digits with its unit, and its interval if that shows.

    Examples
    --------
    >>> number(0.045, 0.043, 0.048, "s").replace(NO_BREAK, " ")
    '45 ms \ue000(43 to 48)\ue001'
    >>> number(5.117838, 5.117838, 5.117838, "1"), number(0.9996, 0.9994, 1.0, "1", metric="share")
    ('5.12', '100%')
    """
    scale = choose_scale([value], unit, metric=metric)
    suffix = f"{NO_BREAK}{scale.label}" if scale.label not in {"", "%"} else scale.label
    ends = [None if end is None else end * scale.factor for end in (low, high)]
    texts = _same_digits(value * scale.factor, *ends)
    if len(texts) == 1 or texts[1] == texts[2]:
        return f"{texts[0]}{suffix}"
    return f"{texts[0]}{suffix} {interval(texts[1], texts[2])}"


def times(value: float, low: float | None, high: float | None) -> str:
    r"""Return ``1.28 times`` with its interval; without an upper end, the least that it is.

    Examples
    --------
    >>> times(1.2803, 1.2735, 1.2855).replace(NO_BREAK, " ")
    '1.28 times \ue000(1.27 to 1.29)\ue001'
    >>> times(5.2, 1.63, None).replace(NO_BREAK, " ")
    'at least 1.63 times'
    """
    if low is not None and high is None:
        return NO_BREAK.join(["at", "least", _same_digits(low, None, None)[0], "times"])
    texts = _same_digits(value, low, high)
    shown = f"{texts[0]}{NO_BREAK}times"
    if len(texts) == 1 or texts[1] == texts[2]:
        return shown
    return f"{shown} {interval(texts[1], texts[2])}"


def brief(value: float, unit: str = "1", *, metric: str = "") -> str:
    """Return a number in at most three digits with its unit, without an interval."""
    return number(value, None, None, unit, metric=metric)


def brief_percent_of(share: float) -> str:
    """Return a share in per cent: two digits below 10%, whole per cent above.

    Examples
    --------
    >>> brief_percent_of(0.0261), brief_percent_of(0.284), brief_percent_of(1.0)
    ('2.6%', '28%', '100%')
    """
    percent = 100.0 * share
    decimals = 0 if abs(percent) >= 9.95 or percent == 0.0 else 1  # noqa: PLR2004
    return f"{format_plain(percent, decimals=decimals).removesuffix('.0')}%"


def _same_digits(value: float, low: float | None, high: float | None) -> list[str]:
    """Return a value and its bounds in the digits that they support, three at most."""
    if low is not None and high is not None and low > 0.0 and high > _WIDE * low:
        return [format_given(float(f"{one:.2g}"), "1") for one in (value, low, high)]
    half_width = half_width_of(low, high)
    largest = max(abs(one) for one in (value, low, high) if one is not None)
    most = decimals_for(largest, half_width=None) if largest else 0
    is_exact = half_width is None or half_width == 0.0
    decimals = most if is_exact else min(decimals_for(value, half_width=half_width), most)
    shown = [value] if low is None or high is None else [value, low, high]
    texts = [format_plain(one, decimals=decimals) for one in shown]
    if is_exact and "." in texts[0]:
        texts = [text.rstrip("0").rstrip(".") for text in texts]
    return texts


def bounded_words(found: Bounded) -> str:
    """Return a number of a statement with its unit and interval."""
    return number(found.value, found.low, found.high, found.unit, metric=found.metric)


def first_short(*candidates: str) -> str:
    """Return the first text with no more words than an answer may have, else the last one."""
    return next((one for one in candidates if count_words(one) <= MAX_WORDS), candidates[-1])
