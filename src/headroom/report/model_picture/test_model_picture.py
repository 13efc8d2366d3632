"""The picture of any model is complete, readable and without overlaps."""

import itertools
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from headroom.report.model_picture import Mark, Marks, draw_model, list_model
from headroom.report.model_picture.folding import MOST, folded
from headroom.report.model_picture.graph import Edge, Graph
from headroom.report.model_picture.layout import Box, Layout, lay_out
from headroom.report.model_picture.routes import graph_of
from headroom.report.model_picture.test_random_models import Data, models
from headroom.report.model_picture.thinning import MOST as MOST_CHOICES
from headroom.simulation import Model, exponential

SVG = "{http://www.w3.org/2000/svg}"
TOUCH_PX = 0.01


def use(station: str, mean: float = 1.0) -> Data:
    """Return a step that uses a station."""
    return {"op": "use", "station": station, "service": {"kind": "exponential", "mean": mean}}


def model_of(*steps: Data, closed: bool = True, **more: object) -> Data:
    """Return a model of one class that walks `steps`; its stations are those that it uses."""
    names = dict.fromkeys(step["station"] for step in steps if step.get("op") == "use")
    return {
        "name": "m",
        "time_unit": "ms",
        "stations": [{"name": name, "servers": 1} for name in names],
        "programs": [{"name": "p", "steps": list(steps)}],
        "classes": [{"kind": "closed" if closed else "open", "name": "users", "program": "p"}],
        **more,
    }


def routes(model: Data) -> set[tuple[str, str, str]]:
    """Return each route of a model: from, to, words."""
    graph = folded(graph_of(model))
    return {
        (name(graph, e.source), name(graph, e.target), ", ".join(e.labels)) for e in graph.edges
    }


def name(graph: Graph, key: str) -> str:
    node = graph.nodes[key]
    return node.name or node.kind


def laid_out(model: Data) -> Layout:
    return lay_out(folded(graph_of(model)), Marks())


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - made here


def texts_of(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in parsed(svg).iter(f"{SVG}text")]


def overlaps(boxes: list[tuple[str, Box]]) -> list[tuple[str, str]]:
    return [
        (one, other)
        for (one, left), (other, right) in itertools.combinations(boxes, 2)
        if left.grown(-TOUCH_PX).overlaps(right)
    ]


def test_routes_follow_the_program() -> None:
    model = model_of(use("cpu"), use("disk"))
    assert routes(model) == {("users", "cpu", ""), ("cpu", "disk", ""), ("disk", "users", "")}


def test_jobs_of_an_open_class_leave() -> None:
    assert ("cpu", "sink", "") in routes(model_of(use("cpu"), closed=False))


def test_a_branch_is_told_with_its_chances_and_may_be_empty() -> None:
    case = {"op": "case"}
    end = {"op": "end"}
    model = model_of(
        use("cpu"), {"op": "branch"}, case | {"probability": 0.3}, use("disk"), end,
        case | {"probability": 0.7}, end, end,
    )  # fmt: skip
    assert {("cpu", "disk", "30%"), ("cpu", "users", "70%"), ("disk", "users", "")} <= routes(model)


def test_chances_of_branches_inside_branches_multiply() -> None:
    def half(*steps: Data) -> list[Data]:
        return [{"op": "case", "probability": 0.5}, *steps, {"op": "end"}]

    inner = [{"op": "branch"}, *half(use("a")), *half(use("b")), {"op": "end"}]
    model = model_of(use("cpu"), {"op": "branch"}, *half(*inner), *half(), {"op": "end"})
    assert {("cpu", "a", "25%"), ("cpu", "b", "25%"), ("cpu", "users", "50%")} <= routes(model)


def test_a_loop_leads_back_with_its_count() -> None:
    loop = {"op": "loop", "count": {"kind": "constant", "value": 3}}
    model = model_of(use("cpu"), loop, use("disk"), use("net"), {"op": "end"})
    found = routes(model)
    assert ("net", "disk", "\u00d7 3") in found
    assert ("net", "users", "") in found


def test_arms_of_a_fork_meet_at_its_join() -> None:
    arm, end = {"op": "arm"}, {"op": "end"}
    fork = {"op": "fork", "quorum": 1}
    model = model_of(fork, arm, use("a"), end, arm, use("b"), end, end)
    found = routes(model)
    assert {("fork", "a", ""), ("fork", "b", ""), ("a", "join 1 of 2", "")} <= found


def test_a_call_enters_the_program_and_comes_back() -> None:
    model = model_of(use("cpu"), {"op": "call", "program": "q"}, use("net"))
    model["stations"].append({"name": "log", "servers": 1})
    model["programs"].append({"name": "q", "steps": [use("log")]})
    assert {("cpu", "log", "call q"), ("log", "net", "")} <= routes(model)


def test_after_a_reply_the_caller_goes_on_and_the_called_one_too() -> None:
    model = model_of({"op": "call", "program": "q"}, use("net"))
    model["stations"] += [{"name": "log", "servers": 1}, {"name": "later", "servers": 1}]
    model["programs"].append({"name": "q", "steps": [use("log"), {"op": "reply"}, use("later")]})
    found = routes(model)
    assert {("log", "reply", ""), ("reply", "net", ""), ("reply", "later", "")} <= found
    assert not any(source == "later" for source, _, _ in found)


def test_what_is_started_runs_beside_its_starter() -> None:
    model = model_of(use("cpu"), {"op": "start", "program": "q"}, use("net"))
    model["stations"].append({"name": "log", "servers": 1})
    model["programs"].append({"name": "q", "steps": [use("log")]})
    found = routes(model)
    assert {("cpu", "log", "start q"), ("cpu", "net", ""), ("log", "sink", "")} <= found
    assert ("log", "net", "") not in found


def test_a_program_that_calls_itself_is_drawn_all_the_same() -> None:
    model = model_of(use("cpu"), {"op": "call", "program": "p"})
    assert ("cpu", "call p", "") in routes(model)


def test_a_network_is_drawn_by_its_table_of_routes() -> None:
    end = {"op": "end"}
    cpu = {"op": "node", "name": "c", "to": [{"node": "d", "probability": 0.9},
                                              {"node": None, "probability": 0.1}]}  # fmt: skip
    disk = {"op": "node", "name": "d", "to": [{"node": "c", "probability": 1}]}
    model = model_of({"op": "network"}, cpu, use("cpu"), end, disk, use("disk"), end, end)
    found = routes(model)
    assert {("cpu", "disk", "90%"), ("disk", "cpu", ""), ("cpu", "users", "10%")} <= found


def test_programs_that_call_each_other_twice_cost_no_more_than_their_length() -> None:
    """Written out, the last program would be 2 to the power of 60 steps long."""
    model = model_of({"op": "call", "program": "q0"})
    model["stations"] = [{"name": "cpu", "servers": 1}]
    twice = [[{"op": "call", "program": f"q{n + 1}"}] * 2 for n in range(60)]
    model["programs"] += [{"name": f"q{n}", "steps": steps} for n, steps in enumerate(twice)]
    model["programs"].append({"name": "q60", "steps": [use("cpu")]})
    assert any(target == "cpu" for _, target, _ in routes(model))


def test_a_pool_is_drawn_around_what_is_used_inside() -> None:
    hold = {"op": "acquire", "pool": "locks"}, {"op": "release", "pool": "locks"}
    model = model_of(use("cpu"), hold[0], use("disk"), hold[1], use("net"))
    model["pools"] = [{"name": "locks", "tokens": 2}]
    layout = laid_out(model)
    hull = layout.hulls["pool locks"]
    inside = {key for key in layout.shapes if hull.overlaps(layout.node_box(key))}
    assert inside == {"pool locks", "station disk"}


def test_where_a_stranger_stands_between_the_users_name_their_pool() -> None:
    """The station in the middle of the row is used without a token."""
    first, last = {"op": "acquire", "pool": "locks"}, {"op": "release", "pool": "locks"}
    model = model_of(first, use("a"), last, use("b"), use("c"), first, use("c"), last)
    model["pools"] = [{"name": "locks", "tokens": 2}]
    layout = laid_out(model)
    assert layout.hulls == {}
    named = {key for key in layout.shapes
             if "holds locks" in {text.words for text in layout.shapes[key].texts}}  # fmt: skip
    assert named == {"station a", "station c"}


def test_alike_disks_are_one_symbol_that_tells_how_many() -> None:
    def case(number: int) -> list[Data]:
        return [{"op": "case", "probability": 1 / 16}, use(f"disk {number}"), {"op": "end"}]

    cases = [step for number in range(1, 17) for step in case(number)]
    model = model_of(use("cpu"), {"op": "branch"}, *cases, {"op": "end"})
    graph = folded(graph_of(model))
    group = next(node for node in graph.nodes.values() if len(node.members) > 1)
    assert group.members == tuple(f"disk {number}" for number in range(1, 17))
    assert "16 alike" in group.lines
    assert ("cpu", group.name, "6.25% each") in routes(model)


def test_parts_that_differ_stay_apart() -> None:
    def case(number: int) -> list[Data]:
        mean = 1.0 + (number == 3)
        return [{"op": "case", "probability": 0.1}, use(f"disk {number}", mean), {"op": "end"}]

    cases = [step for number in range(1, 11) for step in case(number)]
    graph = folded(graph_of(model_of(use("cpu"), {"op": "branch"}, *cases, {"op": "end"})))
    assert "station disk 3" in graph.nodes
    assert "disk 3" not in graph.nodes["station disk 1"].members


@pytest.mark.parametrize("count", [61, 500])
def test_a_model_of_any_size_gives_a_picture_that_can_be_read(count: int) -> None:
    chain = model_of(*(use(f"{chr(97 + n % 26)} part {n}", 1.0 + n) for n in range(count)))
    letters = model_of(*(use("x" * (n + 1), 1.0 + n) for n in range(count)))
    for model in (chain, letters):
        graph = folded(graph_of(model))
        assert len(graph.nodes) <= MOST
        members = [one for node in graph.nodes.values() for one in node.members]
        assert sorted(members) == sorted(["users", *(s["name"] for s in model["stations"])])


def test_routes_of_one_class_alone_have_its_colour() -> None:
    model = model_of(use("cpu"))
    model["classes"].append({"kind": "open", "name": "batch", "program": "q"})
    model["programs"].append({"name": "q", "steps": [use("cpu"), use("tape")]})
    model["stations"].append({"name": "tape", "servers": 1})
    graph = folded(graph_of(model))
    walked = {(e.source, e.target): e.classes for e in graph.edges}
    assert walked["station cpu", "station tape"] == ("batch",)
    assert walked["station cpu", "class users"] == ("users",)
    svg = draw_model(model, is_file=True)
    assert "mp-c1" in svg
    assert texts_of(svg).count("batch") == 2  # once in the key, once on its own symbol


def test_marks_fill_the_servers_and_name_what_limits() -> None:
    marks = Marks(busy={"station cpu": Mark(0.973)}, limiting="station cpu")
    svg = draw_model(model_of(use("cpu"), use("disk")), marks=marks, is_file=True)
    assert "97.3% busy, limits" in texts_of(svg)
    assert svg.count('class="mp-level"') == 1
    assert 'class="mp-part mp-limit"' in svg


def test_the_picture_says_in_words_what_it_shows() -> None:
    root = parsed(draw_model(model_of(use("cpu")), key="k", is_file=True))
    assert root.get("role") == "img"
    labels = (root.get("aria-labelledby") or "").split()
    found = {part.get("id"): part.text for part in root if part.get("id")}
    assert [found[label] for label in labels] == [
        "Model m",
        "Classes: users. Stations: cpu. Routes: users to cpu; cpu to users.",
    ]


def test_the_data_of_a_real_model_are_understood() -> None:
    model = Model("shop", time_unit="ms")
    web = model.station("web", servers=2)
    page = model.program("page")
    page.use(web, exponential(5))
    model.closed_class("users", page, population=10, think=exponential(100))
    texts = texts_of(draw_model(model.to_data(), is_file=True))
    assert {"web", "2 servers", "5 ms", "users", "10 jobs", "think 100 ms exponential"} <= set(
        texts
    )


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(models())
def test_no_symbol_or_word_overlaps_another(model: Data) -> None:
    layout = laid_out(model)
    rooms = [(key, layout.node_box(key)) for key in layout.shapes]
    labels = [(label.words, label.box) for label in layout.labels.values()]
    assert overlaps([*rooms, *labels]) == []
    assert overlaps(layout.text_boxes()) == []


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(models())
def test_no_route_crosses_a_symbol_or_the_words_of_another(model: Data) -> None:
    layout = laid_out(model)
    for number, line in layout.lines.items():
        edge = layout.graph.edges[number]
        ends = {edge.source, edge.target}
        rooms = [layout.node_box(key) for key in layout.shapes if key not in ends]
        for (x, y), (right, below) in itertools.pairwise(line):
            piece = Box(min(x, right), min(y, below), max(x, right), max(y, below))
            is_bend = number not in layout.back and y != below
            if not is_bend:
                assert not any(room.grown(-1.0).overlaps(piece.grown(0.1)) for room in rooms)


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(models())
def test_every_part_is_drawn_once_and_inside(model: Data) -> None:
    graph = folded(graph_of(model))
    members = [one for node in graph.nodes.values() if node.kind == "station"
               for one in node.members]  # fmt: skip
    declared = [station["name"] for station in model["stations"]]
    assert len(members) == len(set(members))
    assert set(declared) <= set(members)
    svg = draw_model(model, is_file=True)
    root = parsed(svg)
    left, top, width, height = map(float, (root.get("viewBox") or "").split())
    view = Box(left, top, left + width, top + height)
    for _, box in lay_out(graph, Marks()).text_boxes():
        assert view.left <= box.left
        assert box.right <= view.right
        assert view.top <= box.top
        assert box.bottom <= view.bottom


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(models())
def test_the_listing_has_a_line_for_every_step(model: Data) -> None:
    lines = list_model(model).splitlines()
    for op in ("acquire", "loop", "fork", "teleport"):
        steps = [s for p in model["programs"] for s in p["steps"] if s.get("op") == op]
        assert sum(line.strip().split(" ")[0] == op for line in lines) >= len(steps)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"stations": None, "classes": 3, "programs": [1, {"name": None}]},
        {"classes": [{"name": "users", "program": "nowhere"}]},
        {"stations": [{"servers": "many"}], "pools": [{"tokens": None}]},
    ],
)
def test_data_that_are_no_model_do_not_raise(model: Data) -> None:
    parsed(draw_model(model, is_file=True))
    assert list_model(model).startswith("model ")


def test_the_picture_is_a_function_of_the_model() -> None:
    model = model_of(use("cpu"), use("disk"))
    assert draw_model(model) == draw_model(model)
    assert re.search(r"\bnan\b", draw_model(model)) is None


def test_an_edge_between_the_same_nodes_is_drawn_once() -> None:
    model = model_of(use("a"), use("b"), use("a"), use("b"))
    graph = folded(graph_of(model))
    pairs = [(edge.source, edge.target) for edge in graph.edges]
    assert len(pairs) == len(set(pairs))
    assert Edge(source="station a", target="station b", classes=("users",)) in graph.edges


def test_a_mix_leads_into_the_program_of_each_class_by_its_share() -> None:
    model = Model("shop", time_unit="ms")
    cpu, disk = model.station("cpu"), model.station("disk")
    look, buy = model.program("look"), model.program("buy")
    look.use(cpu, exponential(1))
    buy.use(disk, exponential(2))
    model.closed_mix("users", {"look": (look, 3), "buy": (buy, 1)}, population=4)
    graph = graph_of(model.to_data())
    told = {(edge.source, edge.target): (edge.labels, edge.classes) for edge in graph.edges}
    assert graph.classes == ["look", "buy"]
    assert told == {
        ("mix users", "station cpu"): (("75%",), ("look",)),
        ("mix users", "station disk"): (("25%",), ("buy",)),
        ("station cpu", "mix users"): ((), ("look",)),
        ("station disk", "mix users"): ((), ("buy",)),
    }


def grouped_model() -> Data:
    """Return a model whose stations and pools are reported in groups."""
    model = Model("cabinet", time_unit="ms")
    program = model.program("access")
    with program.branch("round_robin") as branch:
        for number in (1, 2, 3):
            with model.inside(f"shelf {number}"), branch.case():
                arm = model.station("arm", servers=2, group="arms")
                slot = model.pool("slot", tokens=2, group="slots")
                program.acquire(slot)
                program.use(arm, exponential(number))
                program.release(slot)
    program.use(model.station("door"), exponential(1))
    model.closed_class("users", program, population=3)
    data: Data = model.to_data()
    return data


def test_a_group_that_the_model_names_is_one_node_however_few_it_has() -> None:
    graph = folded(graph_of(grouped_model()))
    arms = next(node for node in graph.nodes.values() if node.name == "arms")
    assert arms.members == ("shelf 1/arm", "shelf 2/arm", "shelf 3/arm")
    assert arms.lines == ("3 stations", "2 servers")
    assert [node.name for node in graph.nodes.values() if node.kind == "station"] == [
        "arms",
        "door",
    ]
    assert ("slots", "arms", "") in routes(grouped_model())


def test_a_group_is_filled_and_red_by_the_row_that_results_have() -> None:
    marks = Marks(busy={"station arms": Mark(0.97, "97%")}, limiting="station arms")
    assert "97% busy, limits" in texts_of(draw_model(grouped_model(), marks=marks, is_file=True))


def reach(edges: list[Edge], start: str) -> set[str]:
    """Return what routes lead to from `start`, whatever lies between."""
    found, waiting = set[str](), [start]
    while waiting:
        here = waiting.pop()
        for edge in edges:
            if edge.source == here and edge.target not in found:
                found.add(edge.target)
                waiting.append(edge.target)
    return found


def test_choices_without_number_are_left_out_and_every_part_is_still_reached() -> None:
    model = Model("many choices", time_unit="ms")
    cpu, disk = model.station("cpu"), model.station("disk")
    program = model.program("query")
    for number in range(40):
        with program.loop(2 + number):
            program.use(cpu, exponential(1))
            with program.branch() as branch:
                with branch.case(0.5):
                    program.use(disk, exponential(1))
                with branch.otherwise():
                    pass
    model.closed_class("users", program, population=3)
    full, thin = graph_of(model.to_data()), folded(graph_of(model.to_data()))
    assert sum(node.kind == "junction" for node in full.nodes.values()) > MOST_CHOICES
    assert sum(node.kind == "junction" for node in thin.nodes.values()) <= 2
    for key in ("station cpu", "station disk", "class users"):
        parts = {one for one in reach(full.edges, key) if one in thin.nodes}
        assert parts <= reach(thin.edges, key)
