"""A model file and the modules next to it: importable while it runs, invisible to others.

``import helper`` in a model file finds ``helper.py`` in its folder, as if Python ran the file. Two
studies that both have a ``helper.py`` each get their own: outside `UserCode.importable` Python
knows no module of a study.

Invariant: the code that runs is the code read when the file was loaded, and `UserCode.digest` is
its hash. No cache of compiled code is used: it can be older than a text that changed within one
tick of the file system's clock.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from headroom.experiment.study.seeds import digest


class UserCode(MetaPathFinder):
    """The code of one model file, with the modules in its folder.

    Parameters
    ----------
    path
        The model file, which exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = path.parent
        self._names = _module_names(path)
        self._modules: dict[str, ModuleType] = {}
        self.texts = _texts(path, self._names)
        """Text of the model file and of each module in its folder that it imports, by file name."""

    @cached_property
    def digest(self) -> str:
        """A hash of what the texts mean; comments, layout and docstrings mean nothing."""
        return digest(
            {
                Path(name).relative_to(self._folder).as_posix(): meaning_of(text)
                for name, text in self.texts.items()
            }
        )

    @contextmanager
    def importable(self) -> Iterator[None]:
        """Let the modules of the folder be imported, and take them away again afterwards."""
        if not self._names:
            yield
            return
        displaced = self._take_away()
        sys.modules.update(self._modules)
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)
            self._modules = self._take_away()
            sys.modules.update(displaced)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return where a module of the folder is; part of Python's protocol of imports."""
        if fullname.partition(".")[0] not in self._names:
            return None
        places = [str(self._folder)] if path is None else list(path)
        spec = PathFinder.find_spec(fullname, places, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader) and spec.origin:
            spec.loader = _Loader(fullname, spec.origin, self.texts)
        return spec

    def _take_away(self) -> dict[str, ModuleType]:
        """Take the modules of these names from Python, and return them."""
        tops = [name for name in self._names if name in sys.modules]
        packages = tuple(f"{name}." for name in tops if hasattr(sys.modules[name], "__path__"))
        inner = [name for name in sys.modules if packages and name.startswith(packages)]
        return {name: sys.modules.pop(name) for name in [*tops, *inner]}


class _Loader(SourceFileLoader):
    """Compiles a module from the text that was read with the model file."""

    def __init__(self, fullname: str, path: str, texts: Mapping[str, bytes]) -> None:
        super().__init__(fullname, path)
        self._texts = texts

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        text = self._texts.get(path)
        return self.source_to_code(self.get_data(path) if text is None else text, path)


def meaning_of(text: bytes) -> str:
    r"""Return a Python text without comments, layout and docstrings.

    Examples
    --------
    >>> meaning_of(b"def f( x ):  # twice\n    '''Double.'''\n    return 2*x")
    'def f(x):\n    return 2 * x'
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            has_docstring = ast.get_docstring(node, clean=False) is not None
            node.body = node.body[1:] if has_docstring else node.body
    return ast.unparse(tree)


def _module_names(path: Path) -> frozenset[str]:
    """Return the modules in the folder of a file, except those that would hide Python's own."""
    beside = [entry for entry in path.parent.iterdir() if entry != path]
    modules = {entry.stem for entry in beside if entry.suffix == ".py"}
    modules |= {entry.name for entry in beside if (entry / "__init__.py").is_file()}
    return frozenset(modules - set(sys.stdlib_module_names) - {"headroom"})


def _texts(path: Path, names: frozenset[str]) -> dict[str, bytes]:
    """Return the text of a file and of all that it imports from its folder, directly or not."""
    texts: dict[str, bytes] = {}
    waiting = [path]
    while waiting:
        source = waiting.pop()
        if str(source) not in texts:
            texts[str(source)] = source.read_bytes()
            imported = _imported(texts[str(source)]) & names if names else ()
            waiting += [file for name in sorted(imported) for file in _files(path.parent, name)]
    return texts


def _files(folder: Path, name: str) -> list[Path]:
    package = folder / name
    return sorted(package.rglob("*.py")) if package.is_dir() else [folder / f"{name}.py"]


def _imported(text: bytes) -> set[str]:
    """Return the first words of all modules that a text imports somewhere."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return set()  # reported with its line when the file is run
    modules = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in modules}
