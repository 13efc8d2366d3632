"""The program that loads and drives databases: where it is, and what it answers."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.errors import EnvironmentUnfitError

PROGRAM = "headroom-transactions"
VARIABLE = "HEADROOM_TRANSACTIONS"
_REPOSITORY = Path(__file__).parents[5]
_CRATE = Path(__file__).parents[1] / "driver"


def program() -> Path:
    """Return the program.

    It is searched in `HEADROOM_TRANSACTIONS`, in the build folder of the repository and in `PATH`.

    Raises
    ------
    EnvironmentUnfitError
        There is none.
    """
    named = os.environ.get(VARIABLE)
    built = [_REPOSITORY / "target" / "transactions" / kind / PROGRAM for kind in _KINDS]
    found = shutil.which(PROGRAM)
    others = [*built, *([Path(found)] if found else [])]
    for place in [Path(named)] if named else others:
        if os.access(place, os.X_OK) and place.is_file():
            return place
    if named:
        raise EnvironmentUnfitError(
            f"{VARIABLE} names {named}, and no program is there",
            cure="name the program, or unset the variable",
        )
    raise EnvironmentUnfitError(f"the program {PROGRAM} is not here", cure=_how_to_build())


_KINDS = ("release", "debug")


def _how_to_build() -> str:
    if not (_CRATE / "Cargo.toml").is_file():
        return f"build it from the source of Headroom, and name it in {VARIABLE}"
    manifest = os.path.relpath(_CRATE / "Cargo.toml")
    target = os.path.relpath(_REPOSITORY / "target" / "transactions")
    return f"build it: `cargo build --release --manifest-path {manifest} --target-dir {target}`"


def ask(job: Mapping[str, Any], *, within_s: float = 86_400.0) -> dict[str, Any]:
    """Have a job done that is no run; return what the program says of it.

    Parameters
    ----------
    job
        As `driver/src/job.rs` describes it.

    Raises
    ------
    EnvironmentUnfitError
        It was refused, with the reason of the program or of the database.
    """
    try:
        done = subprocess.run(
            [str(program()), "-"],
            input=json.dumps(job) + "\n",
            capture_output=True,
            encoding="utf-8",
            timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EnvironmentUnfitError(
            f"{job['do']}: no answer within {within_s:g} s", cure="look at the database's log"
        ) from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise EnvironmentUnfitError(
            f"{job['do']}: {said[-1].removeprefix('error: ')}", cure="correct that, then run again"
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
