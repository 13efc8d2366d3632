"""A missing or unwilling OpenSSL is said in one line."""

from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.machine.openssl import openssl


def test_openssl_that_is_missing_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentUnfitError, match="OpenSSL is not installed") as caught:
        openssl(tmp_path, "version", cure="; or do without")
    assert caught.value.cure == "install the system's package openssl; or do without"


def test_openssl_that_refuses_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "openssl"
    program.write_text("#!/bin/sh\necho first >&2; echo no such curve >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(EnvironmentUnfitError, match="`openssl req` failed: no such curve"):
        openssl(tmp_path, "req")
