"""Is each sentence of an answer true? Statement, words and table beside exact values.

A sentence is wrong by its direction, level, part, change or number, contradicts its own table, or
is beside the question. Words that nothing here understands are wrong too, so that none escapes.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from benches.answers.studies import Level, Study
from headroom.analysis import answer_evidence as said
from headroom.analysis.results import PointResult, StudyResult, WhatIfResult
from headroom.report.first_screen.sentences.answer import answer_words
from headroom.report.sentences.what_if import effects_clause

FAULTS = ("direction", "level", "part", "change", "number", "own table", "beside", "words")
OPEN = "open: "
"""Begins what is no fault: that an answer is left open where the exact one is clear."""
BUSY, NEAR, ALIKE, TIE, CHANCE = 0.9, 0.03, 1.05, 0.01, 1e-3
"""Utilization from which a part limits; distance from it at which both answers are right; gain that
may be called none; difference of parts that chance may swap; difference that is none."""
_N = r"(-?\d[\d,]*(?:\.\d+)?)"
_UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "%": 0.01}
Faults = Iterator[str]
Levels = Mapping[str, Level]


class Judge:
    """Judges the answer of one study by its exact solution."""

    def __init__(self, study: Study, result: StudyResult, printed: str) -> None:
        self.study, self.result, self.printed = study, result, printed
        self.exact, self.points = study.exact, result.experiments[0].points
        self.factor = next(name for name in study.factors if name != "design")
        self.where: Levels = {}
        self.sentences: list[tuple[str, str, list[str]]] = []
        """Kind, text, and faults as ``"kind: reason"``."""
        self.held: dict[str, bool] = {}
        """Whether each interval holds the exact value; once for changes that are as good."""
        self.breaks: list[float] = []
        """Relative errors of the levels at which limits break."""

    def judge(self) -> None:
        """Judge all sentences and intervals."""
        answer, words = self.result.answer, answer_words(self.result)
        if answer is None:
            raise AssertionError(f"{self.study.name} has no answer")
        self._sentence("headline", answer.statement, words.answer.text)
        for statement, sentence in zip(answer.follows, words.follows, strict=False):
            self._sentence("follow", statement, sentence.text)
        for figure, card in zip(answer.questions, words.questions, strict=True):
            if figure.finding is not None:
                self._sentence("card", figure.finding, card.title.text)
        self.where = {}
        self._rules()
        for point in self.points:
            exact = self.exact(point.levels)
            for metric in point.estimates.keys() & exact.keys() & {*self.study.responses}:
                self._hold(f"{metric} at {point.levels}", exact[metric], point.estimates[metric])
            effects = [found for one in point.what_ifs if (found := self._what_if(point, one))]
            faults = [fault for _, faults in effects for fault in faults]
            if effects:
                self.sentences.append(("what-ifs", "; ".join(text for text, _ in effects), faults))

    def _sentence(self, place: str, statement: Any, text: str) -> None:  # noqa: ANN401
        self.where, kind = self._condition(statement), type(statement).__name__
        text = " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())
        faults = list(getattr(self, f"_{kind.lower()}", _unknown)(statement, text))
        faults += self._beside(place, statement, text)
        if place != "card" and text not in " ".join(self.printed.split()):
            faults.append("own table: the sentence is not printed as it is kept")
        self.sentences.append((f"{place} {kind}", text, faults))

    def _condition(self, statement: Any) -> Levels:  # noqa: ANN401
        """Return the levels at which a statement is made."""
        return dict(getattr(statement, "where", {}))

    def _beside(self, place: str, statement: Any, text: str) -> Faults:  # noqa: ANN401, ARG002
        """Judge whether a sentence answers what is asked."""
        is_of_limit = isinstance(statement, said.Target | said.Undecided)
        if place == "headline" and self.study.limits and not is_of_limit:
            yield "beside: the limit of the study is not answered"

    def rows(self) -> list[PointResult]:
        """Return the points of the curve that a sentence is about, by level."""
        own = [p for p in self.points if p.levels.items() >= self.where.items()]
        return sorted(own, key=lambda point: float(point.levels[self.factor]))

    def levels(self, level: Any) -> Levels:  # noqa: ANN401 - a number
        """Return a level of the factor, which need not have been run, with what goes with it."""
        own = [p.levels for p in self.rows() if p.levels[self.factor] == level]
        return own[0] if own else {**self.where, self.factor: float(level)}

    def keeps(self, levels: Levels, change: str = "", by: float = 1.0) -> bool:
        """Return whether all limits are kept at levels after a change, `by` a factor."""
        values = self.exact(levels, change)
        return all(values[one["metric"]] * by <= one["at_most"] if "at_most" in one else
                   values[one["metric"]] >= one["at_least"] * by
                   for one in self.study.limits)  # fmt: skip

    def busy(self, levels: Levels) -> dict[str, float]:
        """Return the utilization of each part, above one where it is offered more."""
        network, exact = self.study.network(levels), self.exact(levels)
        is_open = not any(x.users for x in network.loads.values()) and all(
            station.places is None for station in network.stations.values()
        )
        return {name: network.offered(name) if is_open else exact[f"station.{name}.utilization"]
                for name in network.stations}  # fmt: skip

    def _hold(self, what: str, exact: float, found: Any) -> None:  # noqa: ANN401
        """Note whether an interval holds an exact value, if both are there."""
        if found is not None and None not in (found.low, found.high) and math.isfinite(exact):
            digits = 1e-6 * abs(exact)
            self.held[what] = bool(found.low - digits <= exact <= found.high + digits)

    def _what_if(self, point: PointResult, found: WhatIfResult) -> tuple[str, list[str]] | None:
        """Return the effects of a change as sentences, and their faults; None without effects."""
        before, after = (self.exact(point.levels, one) for one in ("", found.change))
        faults, texts = [], []
        for effect in found.effects:
            if math.isfinite(before.get(effect.metric, math.inf)):
                ratio = after[effect.metric] / before[effect.metric]
                texts.append(effects_clause([effect]))
                self._hold(f"{effect.metric} {ratio:.2g} times, {point.levels}", ratio, effect)
                faults += _opposite(texts[-1], ratio)
        return (f"{found.change}: {', '.join(texts)}", faults) if texts else None

    # Parts.

    def _part(self, name: str, busy: Mapping[str, float], text: str) -> Faults:
        """Judge whether the busiest part is named, with all that are as busy."""
        top = max(busy.values())
        ties = [other for other, share in busy.items() if share > top - CHANCE and top > BUSY]
        if busy.get(name, 0.0) < top - TIE or not all(other in text for other in ties):
            yield f"part: {_shares(busy)}"

    def _limit(self, found: said.Limit, text: str) -> Faults:
        yield from self._part(found.part.name, self.busy(self.rows()[-1].levels), text)
        at, free = found.level, found.last_free
        if at and max(self.busy(self.levels(at.value)).values()) < (0.7 if at.low else BUSY - NEAR):
            yield f"level: {_shares(self.busy(self.levels(at.value)))}"
        if free is not None and max(self.busy(self.levels(free)).values()) > BUSY + NEAR:
            yield f"level: {_shares(self.busy(self.levels(free)))} at {free:g}"
        tried = [p for p in self.rows() if p.what_ifs]
        if found.best is not None and tried:
            yield from self._best(tried[-1], found.best)

    def _saturated(self, found: said.Saturated, text: str) -> Faults:
        full = {float(p.levels[self.factor]): max(self.busy(p.levels).values()) > 1.0
                for p in self.rows()}  # fmt: skip
        level = float(found.level.value) if found.level else 0.0
        ends = _listed("up to (.*) and from", text)
        is_up_to = "aturated up to" in text and not ends
        told = {at: "every" in text or at in ends or (found.level is not None and
                                        (at <= level if is_up_to else at >= level))
                for at in full}  # fmt: skip
        open_ = {float(p.levels[self.factor]) for p in self.rows()
                 if math.isclose(max(self.busy(p.levels).values()), 1.0)}  # fmt: skip
        if any(own != told[at] for at, own in full.items() if at not in open_):
            yield f"level: saturated at {[at for at, is_full in full.items() if is_full]}"
        busy = self.busy(self.levels(level if found.level else max(full, key=lambda at: full[at])))
        yield from self._part(found.part.name, busy, text)
        if found.load and abs(found.load.value / max(busy.values()) - 1.0) > NEAR:
            yield f"number: offered {_shares(busy)}"

    def _nolimit(self, found: said.NoLimit, text: str) -> Faults:
        busiest = max((self.busy(p.levels) for p in self.rows()), key=lambda x: max(x.values()))
        yield from self._part(found.part.name if found.part else "", busiest, text)
        yield from ["part: one limits"] if max(busiest.values()) > BUSY + NEAR else []

    def _losses(self, found: said.Losses, text: str) -> Faults:
        """Judge what is offered, completed and lost, where most is lost."""
        levels = {**self.points[0].levels, **found.where}
        network, exact = self.study.network(levels), self.exact(levels)
        (load,) = network.loads.values()
        lost = 1.0 - exact["throughput"] / load.rate
        for name, told, own in (
            ("offered", found.outcome.offered, load.rate),
            ("completed", found.outcome.goodput, exact["throughput"]),
            ("lost", sum(one.share for one in found.outcome.lost), lost),
        ):
            if abs(told / own - 1.0) > NEAR or (name != "lost" and not _says(text, told)):
                yield f"number: {own:.3g} {name}"
        if any(1.0 - self.exact(p.levels)["throughput"] / self.study.network(p.levels).loads[
                next(iter(network.loads))].rate > lost + TIE for p in self.points):  # fmt: skip
            yield "level: more is lost elsewhere"

    def _busiest(self, found: said.Busiest, text: str) -> Faults:
        busy = self.busy(self.levels(found.level.value) if found.level else {})
        yield from self._part(found.part.name, busy, text)
        share, told = min(busy[found.part.name], 1.0), found.part.utilization
        self._hold(f"{found.part.name} busy", share if share < 1.0 else math.inf, told)
        if told is not None and (abs(told.value - share) > NEAR or not _says(text, told.value)):
            yield f"number: {share:.3g} busy"
        most = max(min(max(self.busy(p.levels).values()), 1.0) for p in self.rows())
        if most > share + NEAR and not found.is_limiting:
            yield f"own table: a part is {most:.3g} busy at another level"

    # Metrics.

    def _sweep(self, found: said.Sweep, text: str) -> Faults:
        ends = [
            self.exact(self.levels(one.value))[found.metric] for one in (found.start, found.end)
        ]
        self._hold(f"{found.metric} over {self.factor}", ends[1] / ends[0], found.ratio)
        yield from _opposite(text, ends[1] / ends[0])
        values = [self.exact(p.levels)[found.metric] for p in self.rows()]
        if "not clearly" in text and max(values) > 1.2 * min(values):
            yield f"direction: from {min(values):.3g} to {max(values):.3g} at other levels"

    def _comparison(self, found: said.Comparison, text: str) -> Faults:  # noqa: ARG002
        own = [p.levels for p in self.rows() if p.levels.items() >= found.first.items()]
        pairs = [[self.exact({**levels, **one})[found.metric] for one in ({}, found.second)]
                 for levels in own]  # fmt: skip
        ratios = [b / a if found.better == "low" else a / b for a, b in pairs]
        better = sum(ratio > 1.0 for ratio in ratios)  # Of two saturated ones neither is.
        if not better or better < found.better_count:
            yield f"direction: better by {', '.join(f'{one:.3g}' for one in ratios)} times"
        if found.first.get("growth") != found.second.get("growth"):
            yield "beside: a load is no choice"
        if len(ratios) == 1:
            self._hold(f"{found.metric} compared", ratios[0], found.ratio)

    def _tradeoff(self, found: said.TradeOff, text: str) -> Faults:  # noqa: ARG002
        for goal in found.goals:
            sign = 1.0 if goal.better == "low" else -1.0
            best = min(sign * self.exact(p.levels)[goal.metric] for p in self.points)
            named = min(sign * self.exact(one)[goal.metric] for one in goal.settings)
            if named - best > (ALIKE - 1.0) * abs(best):
                yield f"level: the best {goal.metric} is {abs(best):.4g}"

    def _undecided(self, found: said.Undecided, text: str) -> Faults:  # noqa: ARG002
        if found.code == "target" and found.level and self._is_decided(found.level.value):
            yield "own table: no interval there includes a limit"
        values = sorted(self.exact(p.levels).get(found.metric, 1.0) for p in self.points)
        best = values[:2] if found.better == "low" else values[-2:]
        if found.code == "ranking" and best[1] > 1.3 * best[0]:
            yield f"{OPEN}the two best are {best[0]:.3g} and {best[1]:.3g}"

    # Limits.

    def _is_decided(self, level: Any) -> bool:  # noqa: ANN401 - a number
        """Return whether the intervals of a level decide about every limit."""
        found = next(p for p in self.rows() if p.levels[self.factor] == level).estimates
        own = [(found[one["metric"]], one.get("at_most", one.get("at_least", 0.0)))
               for one in self.study.limits if one["metric"] in found]  # fmt: skip
        return not any(e.low is not None and e.high is not None and e.low <= bound <= e.high
                       for e, bound in own)  # fmt: skip

    def _target(self, found: said.Target, text: str) -> Faults:
        kept = {float(p.levels[self.factor]): self.keeps(p.levels)
                for p in self.rows() if p.estimates or p.saturation}  # fmt: skip
        told = self._told(found, re.sub(r"\([^)]*\)", "", text), kept)
        unknown = _listed(r"([\d,. and]+) (?:is|are)? ?undecided", text)
        yield from (f"own table: {at:g} is decided" for at in unknown if self._is_decided(at))
        yield from [] if told else ["words: not understood"]
        if any(one not in (None, kept[at]) and at not in unknown for at, one in told.items()):
            yield f"level: kept exactly at {[at for at, one in kept.items() if one]}"
        if found.value is not None:
            at = self.exact(self.levels(found.level.value))[found.metric]
            self._hold(f"{found.metric} said", at, found.value)
            if " enough" in text and not _says(text, found.value.value):
                yield "number: not the value there"
        if re.search("passes|falls below", text) and not found.is_between:
            yield from [] if _says(text, float(found.level.value)) else ["number: of no record"]

    def _othercurves(self, found: said.OtherCurves, text: str) -> Faults:
        for one in found.of:
            self.where = dict(one.where)
            kept = {float(p.levels[self.factor]): self.keeps(p.levels) for p in self.rows()}
            if isinstance(one, said.Undecided):
                yield from ["own table: decided"] if all(map(self._is_decided, kept)) else []
                continue
            level = float(one.level.value)
            low, high = self._ends(one) if one.state == "breaks" else (level, math.inf)
            told = {at: None if low < at < high else at <= low and one.state != "broken"
                    for at in kept}  # fmt: skip
            if any(x not in (None, kept[at], at in one.undecided) for at, x in told.items()):
                yield f"level: {one.where} keep exactly at {[at for at, x in kept.items() if x]}"
            yield from (
                [] if _says(text, level) or one.state == "broken" else ["number: of no record"]
            )

    def _told(self, found: said.Target, body: str, kept: Mapping[float, bool]
              ) -> dict[float, bool | None]:  # fmt: skip
        """Return at which levels the limits are kept by the words; None where that is open."""
        told: dict[float, bool | None] = {}
        low, high = self._ends(found)
        if match := re.search(rf"^(?:With [^,]*, )?(?:\w+ )?{_N}.*? (?:is|are) enough", body):
            told = {at: at >= _value(match[1]) for at in kept}
        elif re.search("not enough|from the first level|up to the last|no level that was", body):
            told = dict.fromkeys(kept, False)
        elif ends := _listed(r"only (?:from|at) (.*?)(?:, not|;|\.$|$)", body):
            told = {at: ends[0] <= at <= ends[-1] for at in kept}
        elif re.search("(passes|falls below) ", body):
            told = {at: None if low < at < high else at <= low for at in kept}
        elif " up to " in body or re.search(rf"from [^;]*?{_N}[^;]* on\b", body):
            told = {at: None if low < at < high else " up to " in body or at >= high for at in kept}
        for again in _listed("kept again at (.*)", body)[:1]:
            sign = -1.0 if found.kept == "above" else 1.0
            told |= {at: None for at in kept if sign * at > sign * again} | {again: True}
        broken = [*_listed(r"([\d,. and]+) (?:is|are|do|does) not", body.partition(";")[2]),
                  *_listed(r", not at ([\d,. and]+)", body)]  # fmt: skip
        return told | dict.fromkeys(broken, False) if told else {}

    def _ends(self, found: said.Target) -> tuple[float, float]:
        """Return the interval of the level at which a limit breaks; note whether it holds that."""
        level = float(found.level.value)
        low, high = found.level.low or level, found.level.high or level
        sides = {self.keeps(self.levels(low)), self.keeps(self.levels(high))}
        if found.kept != "between" and found.limits == 1 and low < high:
            self.held[f"break over {self.factor} {self.where}"] = len(sides) > 1
            if found.state == "breaks" and len(sides) > 1 and not found.is_between:
                self.breaks.append(level / self._break(low, high) - 1.0)
        return low, math.inf if found.is_open else high

    def _break(self, low: float, high: float) -> float:
        """Return the exact level between two at which a limit breaks, to a millionth."""
        is_kept = self.keeps(self.levels(low))
        while high - low > 1e-6 * high:
            middle = (low + high) / 2.0
            low, high = (
                (middle, high) if self.keeps(self.levels(middle)) == is_kept else (low, middle)
            )
        return low

    def _rules(self) -> None:
        lines = self.printed.splitlines()
        for place, line in enumerate(lines):
            if rule := re.match(r"── (.*?) ──", line):
                near = [re.match(rf" *{_N} ", lines[at]) for at in (place - 1, place + 1)]
                above, below = (one and self.levels(_value(one[1])) for one in near)
                self.sentences.append(("rule", rule[1], list(self._rule(rule[1], above, below))))

    def _rule(self, text: str, above: Levels | None, below: Levels | None) -> Faults:
        """Judge where a rule stands: between a row that keeps the limit and one that does not."""
        sides = [one for one in (above, below) if one]
        busy = [max(self.busy(one).values()) for one in sides]
        if "limits from" in text or "saturated" in text:
            bound = 1.0 if "saturated" in text else BUSY
            if busy[-1] < bound - NEAR or (len(busy) > 1 and busy[0] > bound + NEAR):
                yield f"level: {busy} busy above and below"
        elif "knee" not in text and not any(self._is_open(one, text) for one in sides):
            kept = [self.keeps(one) for one in sides]
            yield from [] if len({*kept}) > 1 else [f"level: kept above and below: {kept}"]

    def _is_open(self, levels: Levels, rule: str) -> bool:
        """Return whether a limit is not decided at levels: in the interval of the break, too."""
        level = float(levels[self.factor])
        told = re.search(rf"\({_N} to {_N}\)", rule)
        is_near = told is not None and _value(told[1]) <= level <= _value(told[2])
        return is_near or not self._is_decided(level)

    # Changes.

    def _changes(self, found: said.Changes, text: str) -> Faults:  # noqa: ARG002
        held = {**self.where, **found.levels}
        point = next(p for p in self.points if p.levels.items() >= held.items())
        if self.keeps(point.levels, by=ALIKE) and not all(
            self.keeps(p.levels) for p in self.points
        ):
            yield f"level: weighed where the limit is kept, at {point.levels}"
        if found.best is not None:
            yield from self._best(point, found.best, found.further)
        vain = [_change(one) for one in found.no_gain]
        vain += [] if found.best else [one.change for one in point.what_ifs]
        for change in dict.fromkeys(vain):
            if (gain := self._gain(point, change)) > ALIKE:
                yield f"change: {change} gains {gain:.3g} times"
        for one in found.also:
            if not self.keeps(point.levels, _change(one), 1.0 / ALIKE):
                yield f"change: {_change(one)} does not keep the limit"

    def _best(self, point: PointResult, *named: said.TriedChange | None) -> Faults:
        """Judge whether the smallest change that keeps the limits is named, else the best one."""
        best, others = named[0], [_change(one) for one in named if one is not None]
        if best is None:
            return
        limits, own = [one["metric"] for one in self.study.limits], others[0]
        if limits and best.metric not in limits:
            yield f"change: weighed by {best.metric}, the limit is of {limits}"
        self._hold(f"gain of {own}", self._gain(point, own, best.metric), best.gain)
        sure = [one.change for one in point.what_ifs if self._surely_keeps(point, one)]
        smaller = [one for one in sure if _size(one, self.study) < _size(own, self.study)]
        gains = {one.change: self._gain(point, one.change) for one in point.what_ifs}
        most = max(gains, key=lambda one: gains[one])
        if self.keeps(point.levels) and limits:
            return
        if sure and limits:
            if smaller or not self.keeps(point.levels, own, 1.0 / ALIKE):
                yield f"change: {smaller or sure} keep the limit"
        elif gains[most] > 1.15 * max(self._gain(point, one) for one in others):
            yield f"change: {most} gains {gains[most]:.3g} times, more than {others}"

    def _surely_keeps(self, point: PointResult, found: WhatIfResult) -> bool:
        """Return whether the limits are kept after a change, exactly and by the intervals."""
        ends = {e.metric: (e.low, e.high) for e in found.reached if e.low is not None}
        ends |= {e.metric: (e.before * e.low, e.before * (e.high or math.inf))
                 for e in found.effects if e.low is not None}  # fmt: skip
        return self.keeps(point.levels, found.change, ALIKE) and all(
            one["metric"] in ends and (ends[one["metric"]][1] <= one["at_most"] if "at_most" in one
                                       else ends[one["metric"]][0] >= one["at_least"])
            for one in self.study.limits
        )  # fmt: skip

    def _gain(self, point: PointResult, change: str, metric: str = "") -> float:
        """Return how many times better a change makes what is limited, or the first response."""
        limits = [one["metric"] for one in self.study.limits if not self.keeps(point.levels)]
        metric = metric or next(iter(limits), self.study.responses[0])
        before, after = (self.exact(point.levels, one)[metric] for one in ("", change))
        if before == after or math.isinf(after):
            return 1.0
        return after / before if metric == "throughput" else before / max(after, 1e-12)


def _change(found: said.TriedChange) -> str:
    """Return a change as `also` writes it."""
    return "; ".join(
        f"{one.name if one.kind == 'parameter' else f'{one.kind}.{one.name}.{one.aspect}'}="
        f"{f'x{one.factor:g}' if one.after is None else one.after}"
        for one in found.applied
    )


def _size(change: str, study: Study) -> tuple[int, bool, float]:
    """Return how much a change is: of how many things, whether of speed, servers that are added."""
    added = 0.0
    for name, value in (text.split("=") for text in change.split("; ")):
        own = study.stations[name.split(".")[1]].get("servers", 1) if "." in name else name
        now = float(study.parameters.get(str(own), own))
        added += float(value[1:]) * now - now if value[0] == "x" else float(value) - now
    return change.count(";"), ".speed" in change, added


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _listed(pattern: str, text: str) -> list[float]:
    match = re.search(pattern, text)
    return [_value(one) for one in re.findall(_N, match[1])] if match else []


def _says(text: str, value: float) -> bool:
    """Return whether a text has a number, with any unit that it may have."""
    for number, unit in re.findall(rf"{_N} ?(ns|µs|ms|%|)", text):
        scale, decimals = _UNITS.get(unit, 1.0), len(number.partition(".")[2])
        digit = 0.51 * 10.0**-decimals if decimals else 0.0
        if abs(_value(number) - value / scale) <= max(digit, 0.02 * abs(value / scale)):
            return True
    return False


def _opposite(text: str, ratio: float) -> list[str]:
    """Return the fault of words that say the contrary of an exact ratio."""
    wrong = "falls" if ratio > 1.0 + CHANCE else "rises|grows" if ratio < 1.0 - CHANCE else "^$"
    return [f"direction: {text}: {ratio:.4g} times"] if re.search(f" ({wrong}) ", text) else []


def _shares(busy: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.3g} busy" for name, share in busy.items())


def _unknown(statement: object, text: str) -> Faults:
    yield f"words: nothing judges a {type(statement).__name__}: {text}"
