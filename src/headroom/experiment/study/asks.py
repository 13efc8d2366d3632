"""What a study asks, as data: tables `[[ask]]`. The prose `question` stays for people.

The kind says what an answer is; the other keys say of what. What is left out is taken from the
design: the experiment is the first that can answer, the metric its first response with a direction.
"""

import re
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from headroom.experiment.protocol.system import Value

AskKind: TypeAlias = Literal[
    "capacity",
    "enough",
    "best",
    "effect",
    "limit",
    "value",
    "scale",
    "safe",
    "deadline",
    "window",
    "reproduce",
]
Direction: TypeAlias = Literal["load", "resource", "setting", "label"]
"""Work that a system gets; what it has; a number or word without an order of good; a name."""
_Levels: TypeAlias = dict[str, Value]


class _Ask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """The common keys of all questions."""

    question: Annotated[
        str,
        Meta(description="The question as people ask it: heads the page, or the answer's card."),
    ] = ""
    experiment: Annotated[
        str, Meta(description="Experiment that answers; empty: the first one that can.")
    ] = ""
    metric: Annotated[
        str,
        Meta(
            description="Metric or derived quantity that is asked about; empty: the first response "
            "with a direction, or that of the limits."
        ),
    ] = ""
    where: Annotated[
        _Levels, Meta(description="Levels of factors; a factor not named matches every level.")
    ] = {}

    @property
    def kind(self) -> AskKind:
        """The kind, as in the file."""
        return self.__struct_config__.tag  # type: ignore[return-value]


class CapacityAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="capacity"):
    """Up to which load all limits are kept, and what gives first."""


class EnoughAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="enough"):
    """The least of a resource that keeps all limits; without limits, that reaches a share."""

    factor: Annotated[str, Meta(description="The resource; empty: the first numeric factor.")] = ""
    share: Annotated[
        float,
        Meta(gt=0, le=1, description="Share of the best value that is enough, without limits."),
    ] = 0.99


class BestAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="best"):
    """Which setting to choose, and what cannot be told apart from it."""


class EffectAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="effect"):
    """What the levels `of` cost or gain against the levels `to`, all other levels equal.

    Without both, the metric is a ratio itself, such as a derived quantity with `ratio_to`.
    """

    of: Annotated[_Levels, Meta(description="Levels whose effect is asked.")] = {}
    to: Annotated[_Levels, Meta(description="Levels that they are compared with.")] = {}
    same_within: Annotated[
        float, Meta(ge=0, lt=1, description="Difference that does not matter.")
    ] = 0.05


class LimitAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="limit"):
    """Which part runs out first, and what buying it gives."""


class ValueAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="value"):
    """How much, how long, how many, at a stated point."""

    subject: Annotated[
        str,
        Meta(description="Noun that takes, costs or gives it: `sorting`."),
    ] = ""
    also: Annotated[list[str], Meta(description="Further metrics to state there.")] = []
    extreme: Annotated[
        Literal["highest", "lowest", ""],
        Meta(description="Of several points take the one with this value of `metric`."),
    ] = ""


class ScaleAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="scale"):
    """How a metric grows with a factor: in proportion, to which power, up to where."""

    factor: Annotated[str, Meta(description="A numeric factor; empty: the first.")] = ""


class SafeAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="safe"):
    """Whether anything was lost, wrong or stopped, and what zero of n cannot exclude."""

    also: Annotated[list[str], Meta(description="Further metrics that count what is wrong.")] = []
    of: Annotated[
        str,
        Meta(
            description="Metric that counts what was checked, if that was all there is, such as "
            "the states of a protocol; empty: each run is one of many tries."
        ),
    ] = ""
    seconds: Annotated[
        str, Meta(description="Metric with the time for which users see it, if any.")
    ] = ""
    by: Annotated[str, Meta(description="Factor, one time for each of its levels.")] = ""
    subject: Annotated[str, Meta(description="Noun for the levels: `conditions of SCI`.")] = ""
    expects: Annotated[
        Literal["none", "some"],
        Meta(
            description="`some`: at each level something has to go wrong, because a condition is "
            "left out there."
        ),
    ] = "none"


class DeadlineAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="deadline"):
    """When all work is done, and what is needed to be done by the limit."""


class WindowAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="window"):
    """Between which levels a setting keeps all limits."""


class ReproduceAsk(_Ask, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="reproduce"):
    """How many claims of a publication, or predictions, hold; beside another ask."""


Ask: TypeAlias = (
    CapacityAsk
    | EnoughAsk
    | BestAsk
    | EffectAsk
    | LimitAsk
    | ValueAsk
    | ScaleAsk
    | SafeAsk
    | DeadlineAsk
    | WindowAsk
    | ReproduceAsk
)

_PROSE: list[tuple[str, set[AskKind]]] = [
    (
        r"how many|how much (load|traffic|growth)",
        {"capacity", "enough", "limit", "value", "window"},
    ),
    (r"how long|how fast", {"value", "scale", "deadline", "effect", "safe"}),
    (r"how much (faster|slower|shorter|longer|less|time)", {"effect", "value"}),
    (r"cost|gain|save", {"effect", "value", "reproduce"}),
    (r"which part|where does|what limits|bottleneck", {"limit", "capacity"}),
    (r"\bwhich\b|\bwhat is best\b", {"best", "limit", "window", "effect", "enough"}),
    (r"lost|break|safe|wrong", {"safe", "capacity"}),
    (r"grow|proportional|scale", {"scale", "capacity", "limit", "effect", "value"}),
]
"""Words of a question, and the kinds of asks that answer them."""


def disagreement(question: str, kind: AskKind) -> str:
    """Return why the prose of a question and the kind of its ask disagree; empty if they agree.

    Examples
    --------
    >>> disagreement("How many disks are enough?", "effect")
    '"How many" asks for capacity, enough, limit, value or window, and the ask is `effect`'
    >>> disagreement("How many disks are enough?", "enough")
    ''
    """
    text = question.casefold()
    found = [(match, kinds) for words, kinds in _PROSE if (match := re.search(words, text))]
    if not found or any(kind in kinds for _, kinds in found):
        return ""
    match, kinds = found[0]
    *most, last = sorted(kinds)
    meant = f"{', '.join(most)} or {last}" if most else last
    said = question[match.start() : match.end()]
    return f'"{said}" asks for {meant}, and the ask is `{kind}`'
