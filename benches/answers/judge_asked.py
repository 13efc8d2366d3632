"""Are the answers to what a study asks true? Words and records beside exact values.

A number is wrong if the exact one is outside of its interval, widened by its width on each side. An
answer that is left open is counted where the exact one is clear: ratios beyond `CLEAR`. Each answer
must also stand before the check that a page passes.
"""

import math
import re
from typing import Any

from msgspec.structs import replace

from benches.answers import judge
from benches.answers.judge import BUSY, NEAR, Faults, Judge, Levels
from benches.answers.studies import Study
from headroom.analysis import answer_evidence as said
from headroom.analysis.results import PointResult, StudyResult
from headroom.report.check.agreement import disagreements
from headroom.report.check.rows import faults_of
from headroom.report.first_screen.sentences.statements import statement_sentence

CLEAR, SURE, WIDER = 1.15, 1.03, 1.0
"""Ratio that must be decided; ratio beyond which a level is wrong; widths added to an interval."""
ALIKE, PART, LISTED = 0.05, 0.1, 4
"""Distance of powers that are alike; of values from proportion, up to which they count as in it;
effects of a verdict that are told one by one."""
_KINDS: dict[str, tuple[type, ...]] = {
    "enough": (said.Enough, said.Target, said.Undecided),
    "effect": (said.Effects, said.Saturated),
    "best": (said.Comparison, said.TradeOff, said.Undecided),
    "value": (said.SinglePoint, said.Saturated),
    "scale": (said.Scale,),
    "safe": (said.Safe,),
    "limit": (said.Limit, said.Saturated, said.NoLimit),
    "window": (said.Target, said.Undecided),
    "capacity": (said.Target, said.Undecided),
    "deadline": (said.Target, said.Undecided, said.SinglePoint),
}
_N = r"(-?\d[\d,]*(?:\.\d+)?)"


class AskedJudge(Judge):
    """Judges the answers to the asks of one study by its exact solution."""

    def __init__(self, study: Study, result: StudyResult, printed: str) -> None:
        super().__init__(study, result, printed)
        self.exact = self._exact
        numeric = (name for name, own in study.factors.items() if not isinstance(own[0], str))
        self.factor = next(numeric, "")

    def _sentence(self, place: str, statement: Any, text: str) -> None:  # noqa: ANN401
        if self.study.stations or self._asked(statement):  # Of recorded runs only counts are known.
            super()._sentence(place, statement, text)

    def judge(self) -> None:
        """Judge all sentences, intervals and checks."""
        super().judge()
        answers = self.result.answers
        found = [*faults_of(self.result), *disagreements(self.result)]
        faults = [f"own table: {one}" for one in found]
        if [one.ask for one in answers] != [one["kind"] for one in self.study.asks]:
            faults.append(f"beside: answered {[one.ask for one in answers]}")
        told = {text for kind, text, _ in self.sentences if kind.startswith(("headline", "follow"))}
        if len(told) < len({statement_sentence(one.statement).text for one in answers}):
            faults.append("beside: not all asks are answered in front")
        self.sentences.append(("records", f"{len(answers)} answers", faults))

    def _asked(self, statement: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """Return the ask that a statement answers."""
        return next((ask for ask, own in zip(self.study.asks, self.result.answers, strict=True)
                     if own.statement == statement), None)  # fmt: skip

    def _condition(self, statement: Any) -> Levels:  # noqa: ANN401
        ask = self._asked(statement)
        of_first = self.study.asks[0] if isinstance(statement, said.Changes | said.Settings) else {}
        return {**super()._condition(statement), **(ask or of_first).get("where", {})}

    def _beside(self, place: str, statement: Any, text: str) -> Faults:  # noqa: ANN401, ARG002
        ask = self._asked(statement)
        if ask is None:
            return
        if not isinstance(statement, _KINDS[ask["kind"]]):
            yield f"beside: {ask['kind']} is answered by a {type(statement).__name__}"
        for name, level in ask.get("where", {}).items():
            if not ask.get("subject") and not self._names(text, name, level):
                yield f"beside: does not say that {name} is {level}"

    def _names(self, text: str, name: str, level: Any) -> bool:  # noqa: ANN401
        """Return whether a text names a level: a number with its factor, or a word."""
        titles = self.study.titles.get(name, name)
        if isinstance(titles, dict) or isinstance(level, str):
            own = titles.get(str(level), str(level)) if isinstance(titles, dict) else level
            return re.search(rf"\b{re.escape(own)}\b", text, re.IGNORECASE) is not None
        number = re.escape(f"{level:,}".removesuffix(".0"))
        words = f"(?:{titles}|{titles.removesuffix('s')})"
        pattern = rf"\b(?:{words} {number}|{number} {words})\b"
        return re.search(pattern, text, re.IGNORECASE) is not None

    def _rules(self) -> None:
        if len(self.study.factors) == 1 and self.factor:
            super()._rules()

    def _best(self, point: PointResult, *named: said.TriedChange | None) -> Faults:
        if point.what_ifs:
            yield from super()._best(point, *named)
            return
        for one in filter(None, named):  # Another point is the change.
            exact = self._gain(point, judge._change(one), one.metric)
            gain = one.gain or said.Bounded(value=1)
            yield from self._number(f"gain of {judge._change(one)}", exact, gain)

    def _limit(self, found: said.Limit, text: str) -> Faults:
        """Judge as the base does; where the part does not limit another one may."""
        free = found.last_free
        if free is not None and self.busy(self.levels(free))[found.part.name] < BUSY:
            found = replace(found, last_free=None)
        if found.end is None:
            yield from super()._limit(found, text)
            return
        busy = [self.busy(p.levels) for p in self.rows()]
        ends = [float(p.levels[self.factor]) <= float(found.end.value) for p in self.rows()]
        for own, is_told in zip(busy, ends, strict=True):
            yield from self._part(found.part.name, own, text) if is_told else []
            if not is_told and own[found.part.name] > BUSY + NEAR:
                yield f"level: {judge._shares(own)}"

    def _saturated(self, found: said.Saturated, text: str) -> Faults:
        if found.level is not None or found.judged > 1:
            yield from super()._saturated(found, text)
            return
        (point,) = self.rows()
        yield from self._part(found.part.name, self.busy(point.levels), text)
        if max(self.busy(point.levels).values()) <= 1.0:
            yield f"level: {judge._shares(self.busy(point.levels))}"

    def _undecided(self, found: said.Undecided, text: str) -> Faults:
        """Judge whether the exact answer is clear."""
        yield from super()._undecided(found, text)
        if found.code == "target" and found.level is not None:
            value = self.exact(self.levels(found.level.value))[found.metric]
            if not 1.0 / CLEAR < value / (found.bound or value) < CLEAR:
                yield f"open: clear, {value:.3g}"
        if found.code == "ranking":
            values = sorted(self.of(found.metric, p.levels) for p in self.at({}))
            best, second = values[:2] if found.better == "low" else values[:-3:-1]
            if max(best / second, second / best) > CLEAR:
                yield f"open: the two best are {best:.3g} and {second:.3g}"

    # Exact values.

    def _exact(self, levels: Levels, change: str = "") -> dict[str, float]:
        """Return the exact metrics at levels, with those that move with a word."""
        moved = [row for row in self.study.rows() if self.study.is_zipped
                 and row.get("buy", "") == levels.get("buy")]  # fmt: skip
        return self.study.exact({**levels, **(moved[0] if moved else {})}, change)

    def of(self, metric: str, levels: Levels) -> float:
        """Return the exact value of a metric or derived ratio at levels."""
        own = next((one for one in self.study.derived if one["name"] == metric), None)
        if own is None:
            return self.exact(levels)[metric]
        ends = [self.exact({**levels, **more})[own["of"]] for more in [{}, own["ratio_to"]]]
        return ends[1] / ends[0] if own.get("inverse") else ends[0] / ends[1]

    def at(self, where: Levels) -> list[PointResult]:
        """Return the points at levels."""
        own = [p for p in self.points if p.levels.items() >= {**self.where, **where}.items()]
        return sorted(own, key=lambda point: float(point.levels[self.factor]))

    def curve(self, metric: str) -> dict[float, float]:
        """Return the exact values at the levels of the curve that a sentence is about."""
        return {float(p.levels[self.factor]): x for p in self.at({})
                if (x := self.of(metric, p.levels)) < math.inf}  # fmt: skip

    def _number(self, what: str, exact: float, found: said.Bounded) -> Faults:
        """Judge a number by its interval."""
        self._hold(what, exact, found)
        low, high = (found.value if end is None else end for end in (found.low, found.high))
        reach = max(WIDER * (high - low), 0.02 * abs(exact))
        if not low - reach <= exact <= high + reach:
            yield f"number: {what} is {exact:.4g}, not {found.value:.4g} ({low:.4g} to {high:.4g})"

    # Statements.

    def shares(self, metric: str) -> dict[float, float]:
        """Return the share of the best value at each level of the curve, lowest level first."""
        curve = self.curve(metric)
        best = max(curve.values()) if metric == "throughput" else min(curve.values())
        return {at: min(x / best, best / x) for at, x in curve.items()}

    def _enough(self, found: said.Enough, text: str) -> Faults:
        shares, ask = self.shares(found.metric), self._asked(found) or {}
        levels, least, goal = sorted(shares), float(found.least.level.value), ask["share"]
        last = shares[levels[-2]]
        if "more may give more" in text:
            shown, words = float(found.best.value), "(?:give|gives) the most"
            if last > goal * SURE or shares[levels[-1]] * SURE < 1.0:
                yield f"level: {levels[-2]:g} gives {last:.3g} of the best"
        else:
            shown, words = least, "(?:are|is) enough"
            if shares[least] * SURE < goal or any(shares[at] > goal * SURE
                                                  for at in levels if at < least):  # fmt: skip
                yield f"level: shares are {shares}"
            if least == levels[-1] and last * SURE < goal:
                yield f"beside: more may give more than {least:g}"
        told = re.search(rf"{_N}[^\d]* {words}", text)
        yield from (
            [] if told and judge._value(told[1]) == shown else ["words: the level is not named"]
        )
        yield from self._gives(found, shares, text)
        names = [one for one in self.study.factors if one != self.factor]
        if names and not ask["where"]:
            yield from self._most(found, names[0], goal)

    def _gives(self, found: said.Enough, shares: dict[float, float], text: str) -> Faults:
        """Judge the numbers of the level that is enough, and of the one below."""
        least = float(found.least.level.value)
        exact = self.curve(found.metric)[least]
        yield from self._number(f"{found.metric} at {least:g}", exact, found.least.value)
        for one in filter(None, [found.least, found.less]):
            if abs(one.share.value - shares[float(one.level.value)]) > NEAR:
                yield f"number: {one.level.value} gives {shares[float(one.level.value)]:.3g}"
        told = [judge._value(n) / 100.0 for n in re.findall(rf"{_N}%", text)]
        if any(min(abs(own - x) for x in shares.values()) > NEAR for own in told):
            yield f"number: shares are {shares}"
        less = re.search(rf"; {_N} gives? {_N}%", text)
        if less and judge._value(less[2]) / 100.0 >= found.goal:
            yield "own table: what is not enough reads as if it were"
        if found.less and float(found.less.level.value) != max(at for at in shares if at < least):
            yield "level: not the one below"

    def _most(self, found: said.Enough, name: str, goal: float) -> Faults:
        """Judge that no other curve needs more."""
        own = self.where
        for level in self.study.factors[name]:
            self.where = {name: level}
            low = [at for at, x in self.shares(found.metric).items() if x * SURE < goal]
            if low and max(low) >= float(found.least.level.value) and not found.is_open:
                yield f"level: with {name} {level}, {max(low):g} is too little"
        self.where = own

    def _effects(self, found: said.Effects, text: str) -> Faults:
        ask = self._asked(found) or {}
        of, to = ask.get("of", {}), ask.get("to", {})
        if (found.first, found.second) != (of, to):
            yield f"beside: {found.first} against {found.second}"
        wanted = [p for p in self.at({}) if p.levels.items() >= of.items()]
        steady = [p for p in wanted if all(
            0.0 < self.of(found.metric, {**p.levels, **one}) < math.inf
            for one in (of, to))]  # fmt: skip
        if len(found.effects) < len(steady):
            yield f"part: {len(found.effects)} of {len(steady)} points"
        left = {repr(one.where) for one in found.effects} | {repr(one) for one in found.missing}
        if len(left) < len({repr([own for name, own in p.levels.items() if name not in of])
                            for p in wanted}) and not self.study.is_zipped:  # fmt: skip
            yield "part: points without an effect are not named"
        within = 1.0 + ask.get("same_within", 0.05)
        for one in found.effects:
            (levels,) = [p.levels for p in wanted if p.levels.items() >= one.where.items()]
            first, second = (self.of(found.metric, {**levels, **end}) for end in (of, to))
            ratio = first / second if of else first
            for exact, side in ((first, one.first), (second, one.second)):
                if side is not None:
                    yield from self._number(f"{found.metric} of {one.where}", exact, side)
            wrong = list(self._number(f"{found.metric} for {one.where}", ratio, one.ratio))
            yield from [] if one.verdict == "undecided" else wrong  # Then the ratio is not printed.
            yield from self._verdict(found, one, ratio, within)
            yield from self._words(found, one, ratio, text)

    def _verdict(self, found: said.Effects, one: said.Effect, ratio: float, within: float
                 ) -> Faults:  # fmt: skip
        size = max(ratio, 1.0 / ratio)
        if one.verdict == "undecided":
            yield from [f"open: clear, {ratio:.3g} times"] if size > max(CLEAR, within) else []
        elif one.verdict == "same":
            yield from [f"direction: {ratio:.3g} times"] if size > within * SURE else []
        else:
            is_more = one.verdict == ("better" if found.better == "high" else "worse")
            is_more = one.verdict == "larger" if found.better == "none" else is_more
            if (is_more and ratio < 1.0 / SURE) or (not is_more and ratio > SURE):
                yield f"direction: {one.verdict}, {ratio:.3g} times"

    def _words(self, found: said.Effects, one: said.Effect, ratio: float, text: str) -> Faults:
        """Judge the words of one effect: its direction, number and place."""
        for name, level in {**found.first, **found.second}.items():
            yield from [] if self._names(text, name, level) else [f"words: {level} is not named"]
        is_decided = one.verdict not in {"same", "undecided"}
        if sum(own.verdict == one.verdict for own in found.effects) > LISTED:
            yield from self._bound(found, one, ratio, text)
            return
        if not all(self._names(text, name, level) for name, level in one.where.items()):
            yield f"words: {one.where} is not named"
        if len(found.effects) > 1:
            is_told = not is_decided or _shows(text, one.ratio.value)
            yield from [] if is_told else [f"number: {one.ratio.value:.3g} is not said"]
            return
        word = re.search(r"costs?|saves?|times|no difference|not decided", text.partition(":")[0]
                         if one.verdict != "undecided" else text)  # fmt: skip
        own = word[0] if word else ""
        if is_decided and own.startswith(("cost", "save")):
            is_cost = found.better == "high"
            if ratio > SURE or own.startswith("cost") != is_cost:
                yield f"direction: {own}, {ratio:.3g} times"
            yield from [] if _shows(text, 1.0 - one.ratio.value) else ["number: the share"]
        elif is_decided:
            is_told = own == "times" and _shows(text, one.ratio.value)
            yield from [] if is_told else ["words: no times"]
        elif not own or own not in {"no difference", "not decided"}:
            yield f"words: {one.verdict} is not said"
        for side in filter(None, [one.first, one.second] if is_decided else []):
            yield from [] if _shows(text, side.value) else [f"number: {side.value:.3g} is not said"]

    def _bound(self, found: said.Effects, one: said.Effect, ratio: float, text: str) -> Faults:
        """Judge the ratio that all of many effects have at least, or at most."""
        count = sum(own.verdict == one.verdict for own in found.effects)
        if not re.search(rf"at {count} of {len(found.effects)} points", text):
            yield f"words: {one.verdict} at {count} points is not said"
        told = re.search(rf"at (least|most) {_N} times", text)
        if told and one.verdict not in {"same", "undecided"}:
            excess = ratio / judge._value(told[2])
            if (excess if told[1] == "least" else 1.0 / excess) * SURE < 1.0:
                yield f"number: {ratio:.3g} times for {one.where}"

    def _comparison(self, found: said.Comparison, text: str) -> Faults:
        yield from super()._comparison(found, text)
        if self._asked(found):
            first, second = (self.of(found.metric, self.at(one)[0].levels)
                             for one in (found.first, found.second))  # fmt: skip
            exact = first / second if found.better == "high" else second / first
            yield from self._number(f"{found.metric} compared", exact, found.ratio)

    def _tradeoff(self, found: said.TradeOff, text: str) -> Faults:  # noqa: ARG002
        for goal in found.goals:
            values = [self.of(goal.metric, p.levels) for p in self.at({})]
            best = max(values) if goal.better == "high" else min(values)
            own = [self.of(goal.metric, self.at(one)[0].levels) for one in goal.settings]
            if any(max(one / best, best / one) > CLEAR for one in own):
                yield f"level: the best {goal.metric} is {best:.4g}"

    def _settings(self, found: said.Settings, text: str) -> Faults:
        for goal, values in zip(found.goals, found.values, strict=True):
            levels = self.at(goal.settings[0])[0].levels
            for one in values:
                yield from self._number(one.metric, self.of(one.metric, levels), one)
                yield from [] if _shows(text, one.value) else [f"number: {one.value:.3g}"]

    def _singlepoint(self, found: said.SinglePoint, text: str) -> Faults:
        ask, points = self._asked(found) or {}, self.at(found.where)
        main = found.values[0]
        metric = ask.get("metric") or main.metric
        if main.metric != metric or len(found.values) < 1 + len(ask.get("also", [])):
            yield f"beside: {[one.metric for one in found.values]}"
        if len(points) != 1:
            yield f"part: {found.where} is {len(points)} points"
            return
        levels = points[0].levels
        for one in found.values:
            exact = self.of(one.metric, levels)
            yield from self._number(f"{one.metric} at {found.where}", exact, one)
        if not _shows(text, main.value):
            yield f"number: {main.value:.3g} is not said"
        for name, level in found.where.items():
            if not ask.get("subject") and not self._names(text, name, level):
                yield f"words: {name} {level} is not said"
        if ask.get("extreme"):
            self.where = ask.get("where", {})
            every, exact = [self.of(metric, p.levels) for p in self.at({})], self.of(metric, levels)
            end = max(every) if ask["extreme"] == "highest" else min(every)
            if not 1.0 / SURE < exact / end < SURE and end < math.inf:
                yield f"level: the {ask['extreme']} is {end:.4g}"
            yield from [] if ask["extreme"] in text else ["words: the extreme is not said"]

    def _scale(self, found: said.Scale, text: str) -> Faults:
        curve = self.curve(found.metric)
        x, y = [math.log(at) for at in curve], [math.log(own) for own in curve.values()]
        mean = sum(x) / len(x)
        power = sum((a - mean) * b for a, b in zip(x, y, strict=True))
        power /= sum((a - mean) ** 2 for a in x)
        ends, ratio = [*curve], curve[max(curve)] / curve[min(curve)]
        if (float(found.start.value), float(found.end.value)) != (ends[0], ends[-1]):
            yield f"level: from {ends[0]:g} to {ends[-1]:g}"
        low, high = found.power.low or power, found.power.high or power
        if abs(found.power.value - power) > ALIKE and not low <= power <= high:
            yield f"number: the power is {power:.3g}"
        yield from self._number(f"{found.metric} over {self.factor}", ratio, found.ratio)
        up = [own / curve[ends[0]] / (at / ends[0]) for at, own in curve.items()]
        apart = max(abs(one - 1.0) for one in up)
        if " in proportion to " in text:
            yield from [f"direction: {up} times in proportion"] if apart > PART + NEAR else []
        else:
            yield from [f"direction: proportional, {up}"] if apart < PART - NEAR else []
            verb = re.search(r"(grows?|falls?) with", text)
            is_up = verb is not None and verb[1].startswith("grow")
            if verb is None or (abs(power) > NEAR and is_up != (power > 0.0)):
                yield f"direction: to the power {power:.3g}"
            if not _shows(text, found.power.value):
                yield "number: the power is not said"
        is_told = _shows(text, found.ratio.value) or "times" not in text
        yield from [] if is_told else ["number: times"]

    def _safe(self, found: said.Safe, text: str) -> Faults:
        ask = self._asked(found) or {}
        runs = [one for one in getattr(self.study, "runs", [])
                if one["levels"].items() >= self.where.items()]  # fmt: skip
        names = ["lost_count", *ask.get("also", [])]
        lost = {name: sum(one["values"][name] for one in runs) for name in names}
        if {one.metric: round(one.value, 6) for one in found.counts} != lost:
            yield f"number: {lost}"
        bad = {tuple(one["levels"].items()) for one in runs
               if any(one["values"][name] for name in names)}  # fmt: skip
        if len(found.bad) != len(bad):
            yield f"level: lost at {bad}"
        numbers = [len(runs), *filter(None, lost.values())]
        yield from (f"number: {one} is not said" for one in numbers if not _shows(text, one))
        if not any(lost.values()):
            most = 1.0 / (1.0 - 0.05 ** (1.0 / len(runs)))
            told = re.search(r"at most 1 in ([\d,]+)", text)
            if told is None or text.lower().count("no ") < len(names):
                yield "words: what is open is not said"
            elif not judge._value(told[1]) <= most < judge._value(told[1]) + 1.0:
                yield f"number: 1 in {most:.3g}"
        for fault in {one["levels"]["fault"] for one in runs} if ask.get("seconds") else ():
            longest = max(one["values"]["errors_s"] for one in runs
                          if one["levels"]["fault"] == fault)  # fmt: skip
            if not _shows(text, longest) or not self._names(text, "fault", fault):
                yield f"number: {longest} s with {fault}"


def _shows(text: str, value: float) -> bool:
    """Return whether a text has a number, in its own digits and with any unit."""
    for number, unit in re.findall(rf"{_N} ?(ns|µs|ms|%|)", text.replace("\N{MINUS SIGN}", "-")):
        scale, decimals = judge._UNITS.get(unit, 1.0), len(number.partition(".")[2])
        zeros = 0 if decimals else len(number) - len(number.rstrip("0"))
        if abs(judge._value(number) - value / scale) <= 0.51 * 10.0 ** (zeros - decimals):
            return True
    return False
