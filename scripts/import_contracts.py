"""A contract of import-linter for the rooms of a part, without the tests that lie in them."""

import re
from typing import Any

from importlinter import ContractCheck
from importlinter.contracts.layers import LayersContract

_TEST = re.compile(r"\.(test_\w+|conftest)$")


class Rooms(LayersContract):
    """Layers of one part; a room imports from the rooms below it alone."""

    type_name = "rooms"

    def check(self, graph: Any, verbose: bool) -> ContractCheck:  # noqa: ANN401, FBT001 - as there
        """Check the graph without its tests."""
        for module in sorted(graph.modules):
            if _TEST.search(module):
                graph.remove_module(module)
        return super().check(graph, verbose)
