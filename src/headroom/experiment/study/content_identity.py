"""The files of a study that its answers depend on, compared by content.

Invariant: as in `headroom.experiment.machine.program_identity`.
"""

import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from headroom.experiment.machine.program_identity import PACKAGE, digest_of, stamp_of
from headroom.experiment.protocol.system import HasCode
from headroom.experiment.study.plan import Plan, PlannedExperiment

_CALLERS = ("__main__", "__mp_main__")
"""Names of the script that was called; the second one exists once processes may be started."""
_MOST_HASHED_BYTES = 1 << 24
"""Size up to which a file of a study is compared by content; a recorded trace may be larger."""


def study_files_identity(plan: Plan) -> bytes:
    """Return the identity of the files that a planned study read: its models, and their imports.

    Take it right after the plan: a file that is edited later is another one.
    """
    paths = {
        *_imported(),
        *(path for experiment in plan.experiments for path in files_of(experiment)),
    }
    return digest_of(sorted((str(path), _content(path)) for path in paths))


def _imported() -> Iterator[Path]:
    """Yield the files of all modules that neither the interpreter nor a package brought.

    The script that was called is none of them: it only calls.
    """
    installed = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name not in _CALLERS and not file.startswith((*installed, str(PACKAGE))):
            yield Path(file)


def files_of(experiment: PlannedExperiment) -> Iterator[Path]:
    """Yield the files that the set-up of a system names, and those of its code."""
    if isinstance(experiment.system, HasCode):
        yield from experiment.system.code_files()
    for text in _texts(msgspec.to_builtins(experiment.setup)):
        try:
            path = experiment.base / text
            if text and path.is_file():
                yield path
        except (OSError, ValueError):
            continue  # A text that no path can be.


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, Iterable):
        for inner in value:
            yield from _texts(inner)


def _content(path: Path) -> bytes:
    stamp = stamp_of(path)
    if stamp is None or stamp[0] > _MOST_HASHED_BYTES:
        return digest_of(stamp)
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
    except OSError:
        return b""
