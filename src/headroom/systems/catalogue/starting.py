"""The starter study of this layer, for `headroom init`."""

from pathlib import Path

from headroom.experiment.protocol.starters import Starter

STARTER = Starter(folder=Path(__file__).with_name("starter"))
