"""What tests share that drive databases; a `conftest.py` that needs the fixture imports it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.system import Value
from headroom.systems.transactions.measured.program import program
from headroom.systems.transactions.system import TransactionsSetup, TransactionsSystem


@pytest.fixture(scope="session")
def transactions_program() -> None:
    """Skip if the driver was not built; `make test-deep` builds it."""
    try:
        program()
    except EnvironmentUnfitError as error:
        pytest.skip(f"{error.message}: {error.cure}")


@contextmanager
def opened(setup: TransactionsSetup) -> Iterator[TransactionsSystem]:
    """Open a session of the system."""
    system = TransactionsSystem.load(setup, base=Path())
    system.open_session(print)
    try:
        yield system
    finally:
        system.close_session()


def point(system: TransactionsSystem, **levels: Value) -> dict[str, Value]:
    """Return a point: the defaults, and `levels`."""
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    return {**defaults, **levels}
