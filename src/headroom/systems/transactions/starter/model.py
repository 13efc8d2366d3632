"""A machine under TPC-C. All its numbers are in machine.toml, each with its unit and source."""

from pathlib import Path

from headroom.systems.transactions import machine_model

build = machine_model(Path(__file__).with_name("machine.toml"))
