"""Contracts of import-linter that exclude the tests next to the code."""

import re
from typing import Any

from importlinter import ContractCheck
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract

_TEST = re.compile(r"\.(test_\w+|conftest)$")


def _without_tests(graph: Any) -> Any:  # noqa: ANN401 - a graph of grimp, which has no public type
    for module in sorted(graph.modules):
        if _TEST.search(module):
            graph.remove_module(module)
    return graph


class Rooms(LayersContract):
    """Layers of one part; a room imports from the rooms below it alone."""

    type_name = "rooms"

    def check(self, graph: Any, verbose: bool) -> ContractCheck:  # noqa: ANN401, FBT001 - as there
        """Check the graph without its tests."""
        return super().check(_without_tests(graph), verbose)


class Below(ForbiddenContract):
    """Parts that some code must not import; its tests may."""

    type_name = "below"

    def check(self, graph: Any, verbose: bool) -> ContractCheck:  # noqa: ANN401, FBT001 - as there
        """Check the graph without its tests."""
        return super().check(_without_tests(graph), verbose)
