"""What the tests of a tier cost, and which of them belong in the other tier.

Of each test the file of pytest's results has the processor time (`conftest.py` puts it there),
which is the same beside other work, as wall time is not. A fixture that several tests share is
counted with the first of them.
"""

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

Tier: TypeAlias = Literal["quick", "deep"]

PROCESSOR_S = "processor_s"
"""Name under which the file of results has the processor time of a test."""
QUICK_S = 2.0
"""Processor time above which a test belongs in the deep tier."""
LISTED = 12

Costs: TypeAlias = Mapping[str, Mapping[str, float]]
"""File of tests -> test -> processor time in seconds."""


def costs_of(junit: Path) -> Costs:
    """Return what the tests of a file of results have cost."""
    costs: dict[str, dict[str, float]] = defaultdict(dict)
    for case in ET.parse(junit).iter("testcase"):  # noqa: S314  # written by our own pytest
        for one in case.iterfind(f"properties/property[@name='{PROCESSOR_S}']"):
            tests = costs[case.get("classname", "")]
            name = case.get("name", "")
            tests[name] = tests.get(name, 0.0) + float(one.get("value", "0"))
    return costs


def misplaced(costs: Costs, tier: Tier) -> list[str]:
    """Return a line for each test that is too dear for `quick`, or file too cheap for `deep`.

    Examples
    --------
    >>> costs = {"tests.test_a": {"test_x": 5.2, "test_y": 0.1}, "tests.test_b": {"test_z": 0.2}}
    >>> misplaced(costs, "quick"), misplaced(costs, "deep")
    (['5.2 s  tests.test_a::test_x'], ['0.2 s  tests.test_b'])
    """
    if tier == "quick":
        found = [
            (cost, f"{file}::{name}")
            for file, tests in costs.items()
            for name, cost in tests.items()
            if cost > QUICK_S
        ]
    else:
        sums = [(sum(tests.values()), file) for file, tests in costs.items()]
        found = [(cost, file) for cost, file in sums if cost < QUICK_S / 4.0]
    return [f"{cost:.1f} s  {name}" for cost, name in sorted(found, reverse=True)]


def report(junit: Path, tier: Tier) -> str:
    """Return the dearest files of a tier, and what should move to the other one."""
    costs = costs_of(junit)
    files = sorted(((sum(tests.values()), file) for file, tests in costs.items()), reverse=True)
    lines = [f"{sum(cost for cost, _ in files):.0f} s in {len(files)} files; the dearest:"]
    lines += [f"{cost:6.1f} s  {file}" for cost, file in files[:LISTED]]
    moving = misplaced(costs, tier)
    if moving:
        other = "mark these deep" if tier == "quick" else "these are quick: take their mark away"
        lines += [f"{other}:", *moving[:LISTED]]
    return "\n".join(f"   {line}" for line in lines)
