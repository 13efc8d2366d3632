"""The picture of a machine shows its elements, not each of its hundreds of stations."""

from typing import Any

import pytest

from headroom.report.model_picture.folding import folded
from headroom.report.model_picture.routes import graph_of
from headroom.systems.transactions import machine_model


@pytest.mark.deep
@pytest.mark.parametrize("clusters", [1, 16])
def test_a_machine_of_hundreds_of_stations_is_a_picture_of_its_elements(clusters: int) -> None:
    data: Any = machine_model("spax")(clusters=clusters).to_data()
    graph = folded(graph_of(data))
    parts = [*data["stations"], *data["pools"]]
    rows = {str(part.get("group", part["name"])) for part in parts}
    drawn = {node.name for node in graph.nodes.values() if node.kind in ("station", "pool")}
    assert drawn == rows
    assert len(graph.nodes) <= 40
    assert len(graph.edges) <= 80
