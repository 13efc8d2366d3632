"""The starter studies of this layer, for `headroom init`."""

from pathlib import Path

from headroom.experiment.protocol.starters import Starter

STARTER = Starter(folder=Path(__file__).with_name("starter"))
POOL = Starter(folder=Path(__file__).with_name("pool"))
"""How large a pool of connections a database needs."""
