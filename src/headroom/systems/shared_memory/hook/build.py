"""Compile C and C++ programs with hooks at their memory accesses, and link them with the runtime.

The compilers insert the hooks for their thread sanitizer (`-fsanitize=thread`); the option is left
out when the program is linked, so that the runtime in `runtime/` takes the place of the library
that belongs to it.

Invariant: a program that comes out has at least one object with hooks.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.output_file import check_output

RUNTIME = Path(__file__).with_name("runtime")
"""Folder with the sources of the runtime, `headroom.h` and the flags to link with."""

_HOOKS = "-fsanitize=thread"
_HOOKS_OF_CLANG = ("-mllvm", "-tsan-compound-read-before-write")
"""Without it clang leaves out reads that are followed by a write of the same variable."""
_C = {".c"}
_CPP = {".C", ".cc", ".cpp", ".cxx"}
_COMPILERS = ("cc", "gcc", "clang")
_RUNTIME_FLAGS = (
    "-std=gnu11", "-O2", "-g", "-fPIE", "-fno-builtin", "-fexceptions", "-fno-stack-protector",
    "-fno-plt", "-fomit-frame-pointer", "-pthread",
)  # fmt: skip
_SHOWN_LINES = 12
_HOW_TO_GET = "install gcc or clang, in Debian: sudo apt-get install gcc g++"
_LINK_ONLY = re.compile(r"-l.|-L|-Wl,|-static|-shared|-rdynamic|-no-pie$|-pie$")


class NoCompilerError(EnvironmentUnfitError):
    """There is no compiler that inserts hooks."""


class NotHookedError(StudyError):
    """A program has no hooks, so nothing of it can be recorded."""


class BuildFailedError(StudyError):
    """The compiler refuses the program."""


def find_compiler(compiler: str | None = None, *, is_cpp: bool = False) -> str:
    """Return the path of a compiler of C, or of its sibling for C++.

    Parameters
    ----------
    compiler
        Name or path of a gcc or clang; None for the first of cc, gcc and clang on the PATH.
    is_cpp
        Look for the compiler of C++ of the same name: g++, clang++, c++.

    Raises
    ------
    NoCompilerError
        There is none.

    Examples
    --------
    >>> import shutil
    >>> shutil.which("gcc") is None or find_compiler("gcc", is_cpp=True).endswith("g++")
    True
    """
    if not sys.platform.startswith("linux"):
        raise NoCompilerError(
            "accesses of programs can be recorded on Linux alone", cure="use a Linux machine"
        )
    names = _COMPILERS if compiler is None else (compiler,)
    for name in names:
        found = shutil.which(_sibling(name) if is_cpp else name)
        if found is not None:
            return found
    language = "C++" if is_cpp else "C"
    wanted = ", ".join(_sibling(name) if is_cpp else name for name in names)
    raise NoCompilerError(f"there is no compiler of {language} here ({wanted})", cure=_HOW_TO_GET)


def _sibling(compiler: str) -> str:
    """Return the name of the compiler of C++ that belongs to one of C: gcc-12 has g++-12."""
    folder, slash, name = compiler.rpartition("/")
    name = re.sub(r"^clang(?!\+\+)", "clang++", name)
    name = re.sub(r"(^|-)gcc(?=$|-)", r"\1g++", name)
    name = re.sub(r"(^|-)cc(?=$|-)", r"\1c++", name)
    return f"{folder}{slash}{name}"


def compile_hooked(
    sources: Sequence[Path | str],
    *,
    output: Path | str,
    compiler: str | None = None,
    flags: Sequence[str] = (),
) -> Path:
    """Compile a program of which `record` records the accesses; return its path.

    Parameters
    ----------
    sources
        Files of C (`.c`) and C++ (`.cc`, `.cpp`, `.cxx`, `.C`); other files, such as objects that
        were compiled with `-fsanitize=thread`, are only linked.
    output
        Path of the program.
    compiler
        As of `find_compiler`.
    flags
        For the compiler, such as `-O2`, `-Idirectory` and `-lm`; `-static` links all libraries
        into the program. `headroom.h` is found without a flag.

    Raises
    ------
    NoCompilerError
        There is no compiler for a language of the sources.
    BuildFailedError
        A source has an error, or something to link is missing.
    NotHookedError
        No object has hooks, for example because a flag turns them off.

    Examples
    --------
    >>> import shutil, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "one.c")
    ...     _ = source.write_text("int main(int count, char **words) { return words[0][0] == 0; }")
    ...     if shutil.which("cc"):
    ...         compile_hooked([source], output=Path(folder, "one"), flags=["-O2"]).name
    ...     else:
    ...         "one"
    'one'
    """
    program = Path(output).absolute()
    check_output(program)
    kept = [flag for flag in flags if flag != _HOOKS]
    compiled = [flag for flag in kept if not _LINK_ONLY.match(flag)]
    is_static = "-static" in kept
    has_cpp = any(Path(source).suffix in _CPP for source in sources)
    with tempfile.TemporaryDirectory(prefix="headroom-hook-") as name:
        folder = Path(name)
        objects = []
        for number, source in enumerate(map(Path, sources)):
            if source.suffix not in _C | _CPP:
                objects.append(source)
                continue
            driver = find_compiler(compiler, is_cpp=source.suffix in _CPP)
            target = folder / f"{number}-{source.stem}.o"
            hooked = ["-g", f"-I{RUNTIME}", *compiled, *hook_flags(driver)]
            _run([driver, *hooked, "-c", str(source.absolute()), "-o", str(target)])
            objects.append(target)
        _check_hooks(objects, program)
        runtime = compile_runtime(folder, compiler=compiler, is_static=is_static)
        driver = find_compiler(compiler, is_cpp=has_cpp)
        words = [*map(str, objects), *map(str, runtime), *kept, *link_flags(is_static=is_static)]
        _run([driver, *words, "-o", str(program)])
    return program


def compile_runtime(
    folder: Path, *, compiler: str | None = None, is_static: bool = False
) -> list[Path]:
    """Compile the runtime into a folder, to link a program by hand; return its objects.

    Parameters
    ----------
    folder
        Where the objects go.
    compiler
        As of `find_compiler`.
    is_static
        True for a program that is linked with `-static`.

    Raises
    ------
    NoCompilerError
        There is no compiler.
    """
    objects = []
    for name, content in _runtime(find_compiler(compiler), is_static=is_static):
        target = folder / f"headroom-{name}.o"
        target.write_bytes(content)
        objects.append(target)
    return objects


@cache
def _runtime(driver: str, *, is_static: bool) -> tuple[tuple[str, bytes], ...]:
    """Return the name and content of each object of the runtime."""
    flags = [*_RUNTIME_FLAGS, *(["-DHEADROOM_STATIC"] if is_static else [])]
    if "x86_64" in _run([driver, "-dumpmachine"]):
        # The processor can compare and swap 16 bytes at once.
        flags.append("-mcx16")
    with tempfile.TemporaryDirectory(prefix="headroom-hook-") as name:
        target = Path(name, "object.o")
        objects = []
        for source in sorted(RUNTIME.glob("*.c")):
            _run([driver, *flags, "-c", str(source), "-o", str(target)])
            objects.append((source.stem, target.read_bytes()))
    return tuple(objects)


def hook_flags(compiler: str) -> list[str]:
    """Return the flags with which a compiler inserts the hooks.

    Examples
    --------
    >>> import shutil
    >>> shutil.which("gcc") is None or hook_flags("gcc") == ["-fsanitize=thread"]
    True
    """
    is_clang = "clang" in _run([compiler, "--version"])
    return [_HOOKS, *(_HOOKS_OF_CLANG if is_clang else ())]


def link_flags(*, is_static: bool = False) -> list[str]:
    """Return the flags that a program with the runtime is linked with.

    Examples
    --------
    >>> link_flags()[0]
    '-Wl,--wrap=memcpy'
    """
    name = "static.flags" if is_static else "dynamic.flags"
    return (RUNTIME / name).read_text(encoding="ascii").split()


def _check_hooks(objects: Iterable[Path], program: Path) -> None:
    if any(b"__tsan_" in path.read_bytes() for path in objects if path.is_file()):
        return
    raise NotHookedError(
        f"no object of {program.name} has hooks",
        cure=f"compile its sources with {_HOOKS}, and leave out flags such as -fno-sanitize=all",
    )


def _run(argv: list[str]) -> str:
    """Run a compiler and return what it printed."""
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        shown = "\n".join(f"    {line}" for line in lines[:_SHOWN_LINES])
        raise BuildFailedError(
            f"{Path(argv[0]).name} ended with exit code {done.returncode}:\n{shown}",
            cure="correct the source or the flags; the program must compile with "
            f"`{Path(argv[0]).name} {_HOOKS}` too",
        )
    return done.stdout
