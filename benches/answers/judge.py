"""Is each sentence of an answer true? Statement, words and table beside exact values.

A sentence is wrong by its direction, level, part, change or number, or contradicts its own table.
Words that nothing here understands are wrong too, so that no sentence escapes. Whether intervals
hold the exact values is counted apart.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benches.answers.studies import Level, Study
from headroom.analysis import answer_evidence as said
from headroom.analysis.results import PointResult, StudyResult, WhatIfResult
from headroom.report.sentences.answer.answer import answer_words
from headroom.report.sentences.what_if import effects_clause

FAULTS = ("direction", "level", "part", "change", "number", "own table", "words")
BUSY, NEAR, ALIKE, TIE, CHANCE = 0.9, 0.03, 1.05, 0.01, 1e-3
"""Utilization from which a part limits; distance from it at which both answers are right; gain that
may be called none; difference of equally busy parts; difference that no direction shows."""
_NUMBER = r"(-?\d[\d,]*(?:\.\d+)?)"


class Judge:
    """Judges the answer of one study by its exact solution."""

    def __init__(self, study: Study, result: StudyResult, printed: str) -> None:
        self.study, self.result, self.printed = study, result, printed
        self.points = result.experiments[0].points
        self.factor = next(n for n, v in study.factors.items() if not isinstance(v[0], str))
        self.where: dict[str, Level] = {}
        self.sentences: list[tuple[str, str, list[str]]] = []
        """Kind, text, and faults as ``"kind: reason"``."""
        self.held: list[tuple[str, bool]] = []
        """Each interval, and whether it holds the exact value."""

    def judge(self) -> None:
        """Judge all sentences and intervals."""
        answer, words = self.result.answer, answer_words(self.result)
        if answer is None or words is None:
            raise AssertionError(f"{self.study.name} has no answer")
        self._sentence("headline", answer.statement, words.answer.text)
        for statement, sentence in zip(answer.follows, words.follows, strict=True):
            self._sentence("follow", statement, sentence.text)
        for figure, card in zip(answer.questions, words.questions, strict=True):
            if figure.finding is not None:
                self._sentence("card", figure.finding, card.title.text)
        self.where = {}
        self._rules()
        for point in self.points:
            exact = self.study.exact(point.levels)
            for metric in point.estimates.keys() & exact.keys() & {*self.study.responses}:
                self._hold(f"{metric} at {point.levels}", exact[metric], point.estimates[metric])
            own = [self._what_if(point, one) for one in point.what_ifs]
            if any(text for text, _ in own):
                text = "; ".join(text for text, _ in own if text)
                self.sentences.append(("what-ifs", text, [x for _, faults in own for x in faults]))

    def _sentence(self, place: str, statement: Any, text: str) -> None:  # noqa: ANN401
        self.where = dict(getattr(statement, "where", {}))
        kind = type(statement).__name__
        text = " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())
        check: Callable[[Any, str], Iterator[str]] = getattr(self, f"_{kind.lower()}", _unknown)
        faults = list(check(statement, text))
        if place != "card" and text not in " ".join(self.printed.split()):
            faults.append("own table: the sentence is not printed as it is kept")
        self.sentences.append((f"{place} {kind}", text, faults))

    def rows(self) -> list[PointResult]:
        """Return the points of the curve that a sentence is about, by level."""
        own = [p for p in self.points if p.levels.items() >= self.where.items()]
        return sorted(own, key=lambda point: float(point.levels[self.factor]))

    def levels(self, level: Any) -> dict[str, Level]:  # noqa: ANN401 - a number
        """Return a level of the factor, which need not have been run, with what goes with it."""
        own = [dict(p.levels) for p in self.rows() if p.levels[self.factor] == level]
        return own[0] if own else {**self.where, self.factor: float(level)}

    def keeps(self, levels: Mapping[str, Level], change: str = "", by: float = 1.0) -> bool:
        """Return whether all limits are kept at levels after a change, `by` a factor."""
        values = self.study.exact(levels, change)
        return all(
            values[one["metric"]] * by <= one["at_most"] if "at_most" in one
            else values[one["metric"]] >= one["at_least"] * by
            for one in self.study.limits
        )  # fmt: skip

    def busy(self, levels: Mapping[str, Level]) -> dict[str, float]:
        """Return the utilization of each part, above one where it is offered more."""
        network = self.study.network(levels)
        if any(s.places is not None for s in network.stations.values()) or any(
            load.users for load in network.loads.values()
        ):
            found = self.study.exact(levels)
            return {name: found[f"station.{name}.utilization"] for name in network.stations}
        return {name: network.offered(name) for name in network.stations}

    def _hold(self, what: str, exact: float, found: Any) -> None:  # noqa: ANN401
        """Note whether an interval holds an exact value."""
        if found is not None and None not in (found.low, found.high) and math.isfinite(exact):
            self.held.append((what, _includes(found, exact)))

    def _what_if(self, point: PointResult, found: WhatIfResult) -> tuple[str, list[str]]:
        """Return the effects of a change as sentences, and their faults."""
        before, after = (self.study.exact(point.levels, one) for one in ("", found.change))
        faults, texts = [], []
        for effect in found.effects:
            if not math.isfinite(before.get(effect.metric, math.inf)):
                continue
            ratio = after[effect.metric] / before[effect.metric]
            texts.append(effects_clause([effect]))
            self._hold(f"{point.levels}, {found.change}: {effect.metric}", ratio, effect)
            if _is_opposite(texts[-1], ratio):
                faults.append(f"direction: {found.change}, {texts[-1]}: {ratio:.4g} times")
        return f"{found.change}: {', '.join(texts)}" if texts else "", faults

    # Parts.

    def _part(self, name: str, busy: Mapping[str, float], text: str) -> Iterator[str]:
        """Judge whether the busiest part is named, with all that are as busy."""
        top = max(busy.values())
        ties = [other for other, share in busy.items() if share > top - TIE]
        if name not in ties or not all(other in text for other in ties):
            yield f"part: {_shares(busy)}"

    def _limit(self, found: said.Limit, text: str) -> Iterator[str]:
        shares = [self.busy(point.levels) for point in self.rows()]
        yield from self._part(found.part.name, shares[-1], text)
        if found.level is not None:
            share = max(self.busy(self.levels(found.level.value)).values())
            is_knee = found.level.low is not None
            if share < (0.7 if is_knee else BUSY - NEAR):
                yield f"level: it is {share:.3g} busy there"
        if found.last_free is not None:
            share = max(self.busy(self.levels(found.last_free)).values())
            if share > BUSY + NEAR:
                yield f"level: it is {share:.3g} busy at {found.last_free:g}"
        tried = [p for p in self.rows() if p.what_ifs]
        if found.best is not None and tried:
            yield from self._is_best(found.best, tried[-1], [found.best])

    def _saturated(self, found: said.Saturated, text: str) -> Iterator[str]:
        full = [max(self.busy(p.levels).values()) > 1.0 for p in self.rows()]
        levels = [float(p.levels[self.factor]) for p in self.rows()]
        told = [" at every level" in text or (found.level is not None and (
            float(found.level.value) <= level if " on:" in text else
            float(found.level.value) >= level)) for level in levels]  # fmt: skip
        if told != full and found.level is not None:
            yield f"level: saturated at {[x for x, y in zip(levels, full, strict=True) if y]}"
        if found.level is None and not all(full):
            yield "level: none is said, though not every level is saturated"
        first = self.levels(found.level.value if found.level else levels[full.index(True)])
        yield from self._part(found.part.name, self.busy(first), text)
        if found.load and abs(found.load.value / max(self.busy(first).values()) - 1.0) > NEAR:
            yield f"number: offered {_shares(self.busy(first))}"

    def _nolimit(self, found: said.NoLimit, text: str) -> Iterator[str]:
        busiest = max((self.busy(p.levels) for p in self.rows()), key=lambda x: max(x.values()))
        if max(busiest.values()) > BUSY + NEAR:
            yield f"part: {_shares(busiest)}"
        elif found.part is not None:
            yield from self._part(found.part.name, busiest, text)

    def _busiest(self, found: said.Busiest, text: str) -> Iterator[str]:
        busy = self.busy(self.levels(found.level.value) if found.level else {})
        yield from self._part(found.part.name, busy, text)
        share = min(busy[found.part.name], 1.0)
        self._hold(f"{found.part.name} busy", share, found.part.utilization)
        if found.part.utilization and abs(found.part.utilization.value - share) > NEAR:
            yield f"number: {share:.3g} busy"
        most = max(min(max(self.busy(p.levels).values()), 1.0) for p in self.rows())
        if most > share + NEAR and not found.is_limiting:
            yield f"own table: a part is {most:.3g} busy at another level"

    # Metrics.

    def _sweep(self, found: said.Sweep, text: str) -> Iterator[str]:
        ends = [self.study.exact(self.levels(one.value)) for one in (found.start, found.end)]
        ratio = ends[1][found.metric] / ends[0][found.metric]
        self._hold(f"{found.metric} over {self.factor}", ratio, found.ratio)
        if _is_opposite(text, ratio):
            yield f"direction: exactly {ratio:.4g} times"
        values = [self.study.exact(p.levels)[found.metric] for p in self.rows()]
        if "not clearly" in text and max(values) > 1.2 * min(values):
            yield f"direction: from {min(values):.3g} to {max(values):.3g} at other levels"

    def _comparison(self, found: said.Comparison, text: str) -> Iterator[str]:  # noqa: ARG002
        own = [p.levels for p in self.rows() if p.levels.items() >= found.first.items()]
        ratios = []
        for levels in own:
            first, second = (self.study.exact({**levels, **one})[found.metric]
                             for one in ({}, found.second))  # fmt: skip
            ratios.append(second / first if found.better == "low" else first / second)
        better = sum(ratio > 1.0 for ratio in ratios)  # Of two saturated ones neither is.
        if not better or better < found.better_count:
            yield f"direction: better by {', '.join(f'{one:.3g}' for one in ratios)} times"
        if len(ratios) == 1:
            self._hold(f"{found.metric} compared", ratios[0], found.ratio)
        elif found.ratio.low and found.ratio.low > max(ratios):
            yield f"number: better by {max(ratios):.3g} times at most"

    def _tradeoff(self, found: said.TradeOff, text: str) -> Iterator[str]:  # noqa: ARG002
        for goal in found.goals:
            sign = 1.0 if goal.better == "low" else -1.0
            values = [sign * self.study.exact(p.levels)[goal.metric] for p in self.points]
            named = [sign * self.study.exact(one)[goal.metric] for one in goal.settings]
            if min(named) - min(values) > (ALIKE - 1.0) * abs(min(values)):
                yield f"level: the best {goal.metric} is {abs(min(values)):.4g}"

    def _undecided(self, found: said.Undecided, text: str) -> Iterator[str]:  # noqa: ARG002
        if found.code == "target" and found.level is not None:
            if self._is_decided(float(found.level.value)):
                yield "own table: no interval there includes a limit"
        elif found.code == "ranking":
            values = sorted(self.study.exact(p.levels)[found.metric] for p in self.points)
            best = values[:2] if found.better == "low" else values[-2:]
            if best[1] > 1.3 * best[0]:
                yield f"level: the two best are {best[0]:.3g} and {best[1]:.3g}"

    # Limits.

    def _is_decided(self, level: float) -> bool:
        """Return whether the intervals of a level decide about every limit."""
        point = next(p for p in self.rows() if p.levels[self.factor] == level)
        own = [(point.estimates.get(one["metric"]), one.get("at_most", one.get("at_least")))
               for one in self.study.limits]  # fmt: skip
        near = [bound for found, bound in own if found and _includes(found, float(bound or 0.0))]
        return not near

    def _target(self, found: said.Target, text: str) -> Iterator[str]:
        kept = {float(p.levels[self.factor]): self.keeps(p.levels)
                for p in self.rows() if p.estimates or p.saturation}  # fmt: skip
        open_ = _listed(r"([\d,. and]+) (?:is|are)? ?undecided", text)
        yield from (f"own table: {at:g} is decided" for at in open_ if self._is_decided(at))
        told: dict[float, bool | None] = dict.fromkeys(kept)
        body = re.sub(r"\([^)]*\)", "", text.rpartition(", the current load")[0] or text)
        if match := re.search(rf"^(?:With [^,]*, )?(?:\w+ )?{_NUMBER}.*? (?:is|are) enough", body):
            told = {at: at >= _value(match[1]) for at in kept}
        elif re.search("not enough|from the first level|up to the last|no level that was", body):
            told = dict.fromkeys(kept, False)
        elif match := re.search(rf"only (?:from|at) (.*?{_NUMBER}.*?)(?:, not|;|\.$|$)", body):
            ends = _listed("(.*)", match[1])
            told = {at: ends[0] <= at <= ends[-1] for at in kept}
        elif match := re.search(rf"from [^;]*?{_NUMBER}[^;]* on\b", body):
            low, high = self._ends(found)
            told = {at: None if low < at < high else at >= high for at in kept}
        elif " up to " in body:
            told = dict.fromkeys(kept, True)
        elif re.search("passes|falls below", body):
            low, high = self._ends(found)
            told = {at: None if low < at < high else at <= low for at in kept}
        else:
            yield "words: not understood"
        if match := re.search(rf"kept again at .*?{_NUMBER}", body):
            told = {at: None if (at >= _value(match[1])) == (getattr(found, "kept", "") != "above") else is_kept
                    for at, is_kept in told.items()}  # fmt: skip
            yield from [] if kept[_value(match[1])] else ["level: not kept again there"]
        yield from (f"level: {at:g} is not broken" for at in
                    _listed(r"([\d,. and]+) (?:is|are|do|does) not", body.partition(";")[2])
                    + _listed(r", not at ([\d,. and]+)", body) if kept.get(at, True))  # fmt: skip
        wrong = [at for at, one in told.items() if one not in (None, kept[at]) and at not in open_]
        if wrong:
            yield f"level: kept exactly at {[at for at, one in kept.items() if one]}"
        if getattr(found, "value", None) is not None:
            at = self.study.exact(self.levels(found.level.value))[found.metric]
            self._hold(f"{found.metric} said", at, found.value)

    def _ends(self, found: said.Target) -> tuple[float, float]:
        """Return the interval of the level at which a limit breaks; note whether it holds that."""
        level = float(found.level.value)
        low, high = found.level.low or level, found.level.high or level
        first, last = self.keeps(self.levels(low)), self.keeps(self.levels(high))
        if not self.study.is_zipped and getattr(found, "limits", 1) == 1 and low < high:
            self.held.append((f"break over {self.factor}", first != last))
        return low, high

    def _rules(self) -> None:
        """Judge where a rule stands: between a row that keeps the limit and one that does not."""
        lines = self.printed.splitlines()
        for place, line in enumerate(lines):
            if rule := re.match(r"── (.*?) ──", line):
                near = [re.match(rf" *{_NUMBER} ", lines[at]) for at in (place - 1, place + 1)]
                above, below = (one and self.levels(_value(one[1])) for one in near)
                self.sentences.append(("rule", rule[1], list(self._rule(rule[1], above, below))))

    def _rule(self, text: str, above: Any, below: Any) -> Iterator[str]:  # noqa: ANN401
        if "limits from" in text or "saturated" in text:
            bound = 1.0 if "saturated" in text else BUSY
            sides = [one and max(self.busy(one).values()) - bound for one in (above, below)]
            if (sides[0] or -1.0) > NEAR or (sides[1] or 1.0) < -NEAR:
                yield f"level: {sides} beyond {bound} above and below"
        elif "knee" not in text:
            kept = [one and self.keeps(one) for one in (above, below)]
            if None in kept or kept[0] == kept[1]:
                yield f"level: kept above and below the rule: {kept}"

    # Changes.

    def _changes(self, found: said.Changes, text: str) -> Iterator[str]:  # noqa: ARG002
        point = next(p for p in self.points if p.levels.items() >= found.levels.items())
        kept = [self.keeps(p.levels) for p in self.points]
        if self.keeps(point.levels, by=ALIKE) and not all(kept):
            yield f"level: weighed where the limit is kept, at {point.levels}"
        if found.best is not None:
            named = [found.best, *([found.further] if found.further else [])]
            yield from self._is_best(found.best, point, named)
        vain = [_change(one) for one in found.no_gain]
        vain += [] if found.best else [one.change for one in point.what_ifs]
        for change in dict.fromkeys(vain):
            if (gain := self._gain(point, change)) > ALIKE:
                yield f"change: {change} gains {gain:.3g} times"

    def _is_best(
        self, best: said.TriedChange, point: PointResult, named: Sequence[said.TriedChange]
    ) -> Iterator[str]:
        """Judge whether the smallest change that keeps the limits is named, else the best one."""
        limits, own = [one["metric"] for one in self.study.limits], _change(best)
        if limits and best.metric not in limits:
            yield f"change: weighed by {best.metric}, the limit is of {limits}"
        before, after = (self.study.exact(point.levels, one)[best.metric] for one in ("", own))
        ratio = before / max(after, 1e-12) if best.better == "low" else after / before
        self._hold(f"gain of {own}", ratio, best.gain)
        tried = {one.change: self._gain(point, one.change) for one in point.what_ifs}
        sure = [one for one in tried if limits and self.keeps(point.levels, one, ALIKE)]
        smaller = [one for one in sure if _size(one, self.study) < _size(own, self.study)]
        if sure and (smaller or not self.keeps(point.levels, own, 1.0 / ALIKE)):
            yield f"change: {smaller or sure} keep the limit"
        most = max(tried, key=lambda one: tried[one])
        if not sure and tried[most] > 1.15 * max(self._gain(point, _change(n)) for n in named):
            yield f"change: {most} gains {tried[most]:.3g} times, {own} {tried[own]:.3g}"

    def _gain(self, point: PointResult, change: str) -> float:
        """Return how many times better a change makes what is limited, or the first response."""
        limits = [one for one in self.study.limits if not self.keeps(point.levels)]
        metric = next(iter(limits), {"metric": self.study.responses[0]})["metric"]
        before, after = (self.study.exact(point.levels, one)[metric] for one in ("", change))
        if before == after or math.isinf(after):
            return 1.0
        return after / before if metric == "throughput" else before / max(after, 1e-12)


def _change(found: said.TriedChange) -> str:
    """Return a change as `also` writes it."""
    texts = []
    for one in found.applied:
        name = one.name if one.kind == "parameter" else f"{one.kind}.{one.name}.{one.aspect}"
        texts.append(f"{name}={f'x{one.factor:g}' if one.after is None else one.after}")
    return "; ".join(texts)


def _size(change: str, study: Study) -> tuple[int, bool, float]:
    """Return how much a change is: of how many things, whether of speed, servers that are added."""
    added = 0.0
    for name, value in (text.split("=") for text in change.split("; ")):
        own = study.stations[name.split(".")[1]].get("servers", 1) if "." in name else name
        now = float(study.parameters.get(str(own), own))
        added += float(value[1:]) * now - now if value[0] == "x" else float(value) - now
    return change.count(";"), ".speed" in change, added


def _includes(found: Any, value: float) -> bool:  # noqa: ANN401 - what has an interval
    return None not in (found.low, found.high) and bool(found.low <= value <= found.high)


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _listed(pattern: str, text: str) -> list[float]:
    match = re.search(pattern, text)
    return [_value(one) for one in re.findall(_NUMBER, match[1])] if match else []


def _is_opposite(text: str, ratio: float) -> bool:
    """Return whether words say the contrary of an exact ratio."""
    is_up, is_down = (re.search(f" ({one}) ", text) for one in ("rises|grows", "falls"))
    return (ratio < 1.0 - CHANCE and bool(is_up)) or (ratio > 1.0 + CHANCE and bool(is_down))


def _shares(busy: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.3g} busy" for name, share in busy.items())


def _unknown(statement: object, text: str) -> Iterator[str]:
    yield f"words: nothing judges a {type(statement).__name__}: {text}"
