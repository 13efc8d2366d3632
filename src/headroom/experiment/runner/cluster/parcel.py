"""What workers of a cluster need to run a plan: recipes and files, packed by content.

No shared file system is assumed. A parcel holds the files that the settings name, the model's
modules, and the rest of the study's folder unless that is large. A worker unpacks it into a folder
of its own, so that relative paths mean the same there.

Invariant: equal contents give equal parcels; results of studies are never packed.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from headroom.errors import HeadroomError
from headroom.experiment.machine.program_identity import digest_of
from headroom.experiment.runner.tasks import Recipe
from headroom.experiment.study.content_identity import files_of
from headroom.experiment.study.paths import RESULTS_FOLDER
from headroom.experiment.study.plan import PlannedExperiment
from headroom.quantities import format_quantity

MAX_FOLDER_BYTES = 1 << 25
"""Size of a study's folder up to which all of it is sent."""
_MAX_FOLDER_FILES = 2000
_MAX_NAMED_BYTES = 1 << 28


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """The inside of a parcel.

    Parameters
    ----------
    recipes
        How to load the system of each experiment; their bases are folders of the parcel.
    files
        Content of each file, by its path in the parcel.
    """

    recipes: dict[str, Recipe]
    files: dict[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """An encoded `Content`, its digest, and what was left out.

    Parameters
    ----------
    encoded, digest
        The content and the hash that names it.
    note
        Says that a folder was too large to be sent; empty if nothing was left out.
    """

    encoded: bytes
    digest: str
    note: str = ""


def pack(
    experiments: Iterable[PlannedExperiment],
    recipes: Mapping[str, Recipe],
    *,
    is_host: bool = False,
) -> Parcel:
    """Return the parcel of some experiments, whose `recipes` are those of this machine.

    With `is_host` a path outside the study means a file of the host, and none is sent.

    Raises
    ------
    HeadroomError
        The files that the settings name are too large to be sent.
    """
    sent = [experiment for experiment in experiments if experiment.spec.name in recipes]
    named = {path.absolute() for experiment in sent for path in files_of(experiment)}
    bases = sorted({Path(recipe.base) for recipe in recipes.values()})
    others = {base: _small_folder(base) for base in bases}
    large = [str(base) for base, files in others.items() if files is None]
    sent_paths = {
        path
        for path in map(_flat, named)
        if not is_host or any(path.is_relative_to(base) for base in bases)
    }
    files = _contents(sent_paths, limit=_MAX_NAMED_BYTES)
    for folder in others.values():
        files |= folder or {}
    root = Path(os.path.commonpath([*bases, *(path.parent for path in files)]))
    content = Content(
        recipes={
            name: _relative(recipe, root, is_host=is_host)
            for name, recipe in sorted(recipes.items())
        },
        files={path.relative_to(root).as_posix(): files[path] for path in sorted(files)},
    )
    encoded = msgspec.msgpack.encode(content)
    note = (
        f"{', '.join(large)}: more than {format_quantity(MAX_FOLDER_BYTES, 'B')}, so workers get "
        "only the files that the settings name and the modules of the model"
    )
    return Parcel(encoded=encoded, digest=digest_of(encoded).hex(), note=note if large else "")


def unpack(encoded: bytes, folder: Path) -> dict[str, Recipe]:
    """Write the files of a parcel into an empty folder; returns the recipes that use them."""
    content = msgspec.msgpack.decode(encoded, type=Content)
    for name, data in content.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    recipes = {}
    for name, recipe in content.recipes.items():
        base = folder / recipe.base
        base.mkdir(parents=True, exist_ok=True)
        recipes[name] = msgspec.structs.replace(recipe, base=str(base))
    return recipes


def _relative(recipe: Recipe, root: Path, *, is_host: bool) -> Recipe:
    """Return a recipe with paths of the parcel instead of paths of this machine."""
    base = Path(recipe.base)
    setup = recipe.setup if is_host else _without_absolute(recipe.setup, base)
    return msgspec.structs.replace(recipe, base=base.relative_to(root).as_posix(), setup=setup)


def _without_absolute(value: Any, base: Path) -> Any:  # noqa: ANN401 - plain content of a setup
    """Return a set-up in which files with absolute paths are named relative to the base."""
    if isinstance(value, str):
        is_file = value.startswith(os.sep) and Path(value).is_file()
        return os.path.relpath(_flat(Path(value)), base) if is_file else value
    if isinstance(value, Mapping):
        return {key: _without_absolute(inner, base) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_without_absolute(inner, base) for inner in value]
    return value


def _flat(path: Path) -> Path:
    """Return an absolute path without ``..``; a link in the last place keeps its name."""
    return path.parent.resolve() / path.name


def _small_folder(base: Path) -> dict[Path, bytes] | None:
    """Return the files of a study's folder, None if they are too many or too large."""
    paths = []
    size = 0
    for path in _walk(base):
        size += path.stat().st_size
        paths.append(path)
        if len(paths) > _MAX_FOLDER_FILES or size > MAX_FOLDER_BYTES:
            return None
    return _contents(paths, limit=MAX_FOLDER_BYTES)


def _walk(base: Path) -> Iterator[Path]:
    """Yield the regular files of a folder, without results, caches and hidden files."""
    for folder, inner, names in os.walk(base):
        inner[:] = sorted(name for name in inner if not _is_left_out(name))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _is_left_out(name: str) -> bool:
    return name.startswith((".", RESULTS_FOLDER)) or name == "__pycache__"


def _contents(paths: Iterable[Path], *, limit: int) -> dict[Path, bytes]:
    files: dict[Path, bytes] = {}
    size = 0
    for path in paths:
        size += path.stat().st_size
        if size > limit:
            raise HeadroomError(
                f"{path}: the files that workers need are larger than "
                f"{format_quantity(limit, 'B')} together",
                cure="run the study here, or leave large files out of its settings",
            )
        files[path] = path.read_bytes()
    return files
