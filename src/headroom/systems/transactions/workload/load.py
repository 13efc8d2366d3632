"""Sources of transactions: terminals that wait for each answer, or arrivals that do not."""

from collections.abc import Mapping

from headroom.simulation import Distribution, Model, Program, constant, exponential, mixture
from headroom.simulation.laws.distribution import added
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.workload.tpcc import DECK, KEYING_S, THINKING_S, Kind

CARDS = sum(DECK.values())


def add_load(model: Model, machine: Machine, programs: Mapping[Kind, Program]) -> None:
    """Add the terminals of a machine to its model, or the transactions that come from outside."""
    if machine.arrivals_per_s > 0:
        for kind, cards in DECK.items():
            per_ms = 1e-3 * machine.arrivals_per_s * cards / CARDS
            model.open_class(kind, programs[kind], interarrival=exponential(1 / per_ms))
        return
    model.closed_mix(
        "terminals",
        {kind: (programs[kind], cards) for kind, cards in DECK.items()},
        population=machine.terminal_count,
        think=think_time(machine),
        draw="deck",
        start="ready",
    )


def think_time(machine: Machine) -> Distribution | None:
    """Return the law of the think time (ms) of a terminal; None if there is none.

    The standard keys for a fixed time and thinks for an exponential one, both by the type of the
    transaction. Types follow one another by chance, so the law is a mixture of the types; its mean
    is scaled to that of the machine.

    Examples
    --------
    >>> from headroom.systems.transactions import machine_model
    >>> machine = machine_model("spax").machine(think_ms=20_696.0, think_law="standard")
    >>> round(think_time(machine).mean)
    20696
    """
    if machine.think_ms <= 0:
        return None
    if machine.think_law == "constant":
        return constant(machine.think_ms)
    if machine.think_law == "exponential":
        return exponential(machine.think_ms)
    cycle_s = sum(cards * (KEYING_S[kind] + THINKING_S[kind]) for kind, cards in DECK.items())
    scale = machine.think_ms * CARDS / cycle_s
    laws = [
        added([constant(scale * KEYING_S[kind]), exponential(scale * THINKING_S[kind])])
        for kind in DECK
    ]
    return mixture(laws, list(DECK.values()))
