"""Random models, as strange as the format allows, for property tests of the picture.

Every model here is only data and need not be able to run.
"""

from typing import Any

from hypothesis import strategies as st

Data = dict[str, Any]
END: Data = {"op": "end"}
NAMES = [
    "cpu",
    "disk 1",
    "disk 2",
    "disk 3",
    "a rather long name of a station, longer than a box",
    "node 1/cpu",
    "node 2/cpu",
    "Datenbank \u00fc",
    "\u6570\u636e\u5e93",
    "<b>&\"quoted'",
    "WWWWWW",
]
POOLS = ["threads", "connections", "locks"]
PROGRAMS = ["main", "other", "inner"]

laws = st.one_of(
    st.none(),
    st.builds(lambda mean: {"kind": "exponential", "mean": mean}, st.floats(1e-3, 1e6)),
    st.builds(lambda value: {"kind": "constant", "value": value}, st.integers(0, 9)),
    st.just({"kind": "lottery", "odds": [1, 2]}),
    st.just(
        {
            "kind": "expression",
            "code": [{"attribute": "size"}, {"number": 2}, {"apply": "multiply"}],
        }
    ),
)
choices = st.one_of(
    st.none(),
    st.sampled_from(["condition", "round_robin", "shortest_queue", "hash", "oracle"]).map(
        lambda kind: {"kind": kind}
    ),
)


def _case_data() -> st.SearchStrategy[Data]:
    return st.one_of(
        st.just({}),
        st.builds(lambda p: {"probability": p}, st.floats(0, 1)),
        st.just({"condition": [{"jobs": "cpu"}, {"number": 3}, {"apply": "less"}]}),
        st.just({"of": {"station": "cpu"}}),
    )


def _block(op: str, parts: list[list[Data]], **data: object) -> list[Data]:
    opening: Data = {"op": op, **{name: value for name, value in data.items() if value is not None}}
    return [opening, *(step for part in parts for step in part), END]


def _part(op: str, steps: list[list[Data]], **data: object) -> list[Data]:
    return [{"op": op, **data}, *(step for some in steps for step in some), END]


def _blocks(inner: st.SearchStrategy[list[Data]]) -> st.SearchStrategy[list[Data]]:
    bodies = st.lists(inner, max_size=3)
    cases = st.lists(
        st.builds(lambda body, case: _part("case", body, **case), bodies, _case_data()), max_size=4
    )
    arms = st.lists(st.builds(lambda body: _part("arm", body), bodies), max_size=3)
    held = st.builds(
        lambda pool, body: [
            {"op": "acquire", "pool": pool, "tokens": 1},
            *(step for some in body for step in some),
            {"op": "release", "pool": pool, "tokens": 1},
        ],
        st.sampled_from(POOLS),
        bodies,
    )
    tried = st.builds(
        lambda work, failed: _block(
            "attempt",
            [_part("work", work), _part("failed", failed)],
            tries=3,
            timeout={"kind": "exponential", "mean": 4},
        ),
        bodies,
        bodies,
    )
    return st.one_of(
        st.builds(lambda body, count: _block("loop", body, count=count), bodies, laws),
        st.builds(lambda parts, choice: _block("branch", parts, choice=choice), cases, choices),
        st.builds(lambda parts: _block("fork", parts, quorum=1), arms),
        held,
        tried,
        st.builds(_network, st.lists(bodies, max_size=4), st.data()),
    )


def _network(bodies: list[list[list[Data]]], data: st.DataObject) -> list[Data]:
    names = [f"n{place}" for place in range(len(bodies))]
    parts = []
    for name, body in zip(names, bodies, strict=True):
        targets = data.draw(st.lists(st.sampled_from([*names, None]), max_size=3))
        to = [{"node": target, "probability": 1 / len(targets)} for target in targets]
        parts.append(_part("node", body, name=name, to=to))
    return _block("network", parts)


_simple = st.one_of(
    st.builds(
        lambda name, law: [{"op": "use", "station": name, "service": law}],
        st.sampled_from(NAMES),
        laws,
    ),
    st.builds(lambda law: [{"op": "delay", "time": law}], laws),
    st.builds(
        lambda op, name: [{"op": op, "program": name}],
        st.sampled_from(["call", "start"]),
        st.sampled_from(PROGRAMS),
    ),
    st.sampled_from(
        [
            [{"op": "reply"}],
            [{"op": "set", "attribute": "size", "value": None}],
            [{"op": "teleport", "name": "beam"}],
            [END],
            [{}],
        ]
    ),
)
steps = st.lists(st.recursive(_simple, _blocks, max_leaves=12), max_size=6).map(
    lambda some: [step for one in some for step in one]
)


@st.composite
def models(draw: st.DrawFn) -> Data:
    """Return the data of a random model."""
    stations = draw(st.lists(st.sampled_from(NAMES), unique=True))
    classes = draw(st.integers(0, 4))
    return {
        "format": 2,
        "name": "random",
        "time_unit": draw(st.sampled_from(["ms", "h", "fortnight", ""])),
        "stations": [
            {
                "name": name,
                "servers": draw(st.integers(1, 40)),
                "discipline": draw(st.sampled_from(["fcfs", "ps", "infinite", "raffle"])),
                "buffer": draw(st.one_of(st.none(), st.integers(0, 9))),
            }
            for name in stations
        ],
        "pools": [{"name": name, "tokens": draw(st.integers(1, 300))} for name in POOLS[:2]],
        "programs": [{"name": name, "steps": draw(steps)} for name in PROGRAMS],
        "classes": [
            {
                "kind": draw(st.sampled_from(["open", "closed"])),
                "name": f"class {number}",
                "program": draw(st.sampled_from([*PROGRAMS, "missing"])),
                "population": 10,
                "think": draw(laws),
                "interarrival": draw(laws),
            }
            for number in range(classes)
        ],
    }
