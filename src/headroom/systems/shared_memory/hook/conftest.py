"""Compilers and programs for the tests of hooks."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from headroom.systems.shared_memory.hook.build import BuildFailedError, compile_hooked

Build = Callable[..., Path]


@pytest.fixture(params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest) -> str:
    """Return the name of a compiler; the test is skipped if it is not installed."""
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed; get it, in Debian: sudo apt-get install {name}")
    return name


@pytest.fixture
def build(compiler: str, tmp_path: Path) -> Build:
    """Return a function that builds a hooked program of a text."""

    def built(text: str, *flags: str, suffix: str = ".c") -> Path:
        source = tmp_path / f"program{suffix}"
        source.write_text(text, encoding="utf-8")
        options: Sequence[str] = ["-O1", *flags]
        try:
            return compile_hooked(
                [source], output=tmp_path / "program", compiler=compiler, flags=options
            )
        except BuildFailedError as error:
            if "-static" in flags and "cannot find -l" in error.message:
                pytest.skip("no static C library here; get it, in Debian: libc6-dev")
            raise

    return built
