"""Keys and certificates of a session, made by the system's OpenSSL."""

import subprocess
from pathlib import Path

from headroom.errors import EnvironmentUnfitError

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(folder: Path, *arguments: str, cure: str = "") -> None:
    """Run `openssl` in a folder.

    Parameters
    ----------
    folder
        Where it runs.
    arguments
        Its arguments.
    cure
        What else helps where it is missing.

    Raises
    ------
    EnvironmentUnfitError
        It is missing or refuses.
    """
    cure = "install the system's package openssl" + cure
    try:
        done = subprocess.run(
            ["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise EnvironmentUnfitError("OpenSSL is not installed (no `openssl`)", cure=cure) from error
    if done.returncode:
        said = done.stderr.strip().splitlines()
        reason = said[-1] if said else f"exit code {done.returncode}"
        raise EnvironmentUnfitError(f"`openssl {arguments[0]}` failed: {reason}", cure=cure)
