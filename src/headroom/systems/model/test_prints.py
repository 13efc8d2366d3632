"""A model that prints: standard output carries results only."""

from pathlib import Path

import pytest

from headroom.systems.model.source import built_model, code_of_file, function_of_file

MODEL = """
import os
from headroom.simulation import Model

print("loaded")
os.system("echo a child")

def build() -> Model:
    print("built")
    os.write(1, b"native")
    model = Model("m")
    program = model.program("p")
    program.use(model.station("s"), 1.0)
    model.open_class("c", program, interarrival=2.0)
    return model
"""


def test_what_a_model_prints_is_no_part_of_the_results(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Cause: `run --json` began with the lines that the model printed."""
    (tmp_path / "m.py").write_text(MODEL)
    built_model(function_of_file(code_of_file(tmp_path / "m.py"), "build"), {})
    print("a result", flush=True)  # noqa: T201 - standard output is back
    written = capfd.readouterr()
    assert written.out == "a result\n"
    assert all(word in written.err for word in ("loaded", "a child", "built", "native"))
