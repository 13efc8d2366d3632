"""Programs are compiled with hooks, or refused with a reason."""

import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headroom.systems.shared_memory.hook import compile_hooked, record
from headroom.systems.shared_memory.hook.build import (
    RUNTIME,
    BuildFailedError,
    NoCompilerError,
    NotHookedError,
    compile_runtime,
    find_compiler,
    link_flags,
)
from headroom.systems.shared_memory.hook.record import TraceError

WRITES = """
#include <stdio.h>
int places[100];
int main(void) {
    for (int i = 0; i < 100; i++)
        places[i] = i;
    puts("done");
    return places[7] - 7;
}
"""


def plain_program(text: str, compiler: str, folder: Path, *flags: str) -> Path:
    source, program = folder / "plain.c", folder / "plain"
    source.write_text(text, encoding="utf-8")
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize(
    ("compiler", "sibling"),
    [
        ("gcc", "g++"),
        ("clang", "clang++"),
        ("cc", "c++"),
        ("gcc-12", "g++-12"),
        ("/opt/gcc/bin/clang-19", "/opt/gcc/bin/clang++-19"),
        ("x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++"),
        ("clang++", "clang++"),
    ],
)
def test_each_compiler_of_c_has_a_sibling_for_cpp(
    compiler: str, sibling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name)
    assert find_compiler(compiler, is_cpp=True) == sibling
    assert find_compiler(compiler) == compiler


def test_a_machine_without_a_compiler_is_refused_with_the_way_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NoCompilerError, match=r"no compiler of C\+\+.*\(c\+\+, g\+\+, clang\+\+\)"):
        compile_hooked([tmp_path / "a.cc"], output=tmp_path / "a")
    with pytest.raises(NoCompilerError, match="apt-get install gcc"):
        compile_hooked(["a.c"], output=tmp_path / "a")


def test_an_error_in_the_source_is_shown_as_the_compiler_words_it(
    compiler: str, tmp_path: Path
) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int main(void) { return missing; }", encoding="utf-8")
    with pytest.raises(BuildFailedError, match=r"wrong\.c:1:\d+: error: .*missing"):
        compile_hooked([source], output=tmp_path / "wrong", compiler=compiler)


def test_a_program_that_was_compiled_without_hooks_is_refused(
    compiler: str, tmp_path: Path
) -> None:
    program = plain_program(WRITES, compiler, tmp_path)
    with pytest.raises(NotHookedError, match="plain wrote no trace"):
        record([program])
    with pytest.raises(NotHookedError, match="plain wrote no trace"):
        record([program], trace=tmp_path / "trace")
    plain_program(WRITES, compiler, tmp_path, "-c")
    with pytest.raises(NotHookedError, match="no object of program has hooks"):
        compile_hooked([tmp_path / "plain"], output=tmp_path / "program", compiler=compiler)


@pytest.mark.deep
def test_an_object_that_was_compiled_by_hand_is_linked_by_hand(
    compiler: str, tmp_path: Path
) -> None:
    (tmp_path / "plain.c").write_text(WRITES, encoding="utf-8")
    hooked = tmp_path / "hooked.o"
    argv = [compiler, "-O1", "-fsanitize=thread", "-c", str(tmp_path / "plain.c")]
    subprocess.run([*argv, "-o", str(hooked)], check=True)
    objects = [hooked, *compile_runtime(tmp_path, compiler=compiler)]
    program = tmp_path / "program"
    subprocess.run([compiler, *map(str, objects), *link_flags(), "-o", str(program)], check=True)
    assert record([program]).accesses.writes == 100
    again = compile_hooked([hooked], output=tmp_path / "again", compiler=compiler)
    assert record([again]).accesses.writes == 100


def test_a_hooked_program_without_a_trace_does_its_work(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(WRITES, encoding="utf-8")
    program = compile_hooked([source], output=tmp_path / "program", compiler=compiler)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_trace_is_never_overwritten(compiler: str, tmp_path: Path) -> None:
    source, trace = tmp_path / "program.c", tmp_path / "trace"
    source.write_text(WRITES, encoding="utf-8")
    program = compile_hooked([source], output=tmp_path / "program", compiler=compiler)
    trace.write_text("precious", encoding="utf-8")
    with pytest.raises(TraceError):
        record([program], trace=trace)
    assert trace.read_text(encoding="utf-8") == "precious"
    with pytest.raises(NotHookedError, match="No such file or directory"):
        record([program], trace=tmp_path / "no" / "trace")


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def _recorded(program: Path, trace: str, **how: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HEADROOM_TRACE": trace}
    return subprocess.run(
        [str(program)], env=environment, capture_output=True, text=True, check=False, **how
    )


def test_a_program_outlives_the_reader_of_its_trace_and_a_limit_of_its_files(
    compiler: str, tmp_path: Path
) -> None:
    """Cause: SIGPIPE and SIGXFSZ of the recording killed what was recorded."""
    source = tmp_path / "program.c"
    source.write_text(WRITES.replace("100", "100000"), encoding="utf-8")
    program = compile_hooked([source], output=tmp_path / "program", compiler=compiler)
    reader, writer = os.pipe()
    os.close(reader)
    gone = _recorded(program, f"fd:{writer}", pass_fds=[writer])
    os.close(writer)
    full = _recorded(program, str(tmp_path / "t"), preexec_fn=_limited)
    for done, why in ((gone, "Broken pipe"), (full, "File too large")):
        assert (done.returncode, done.stdout) == (0, "done\n")
        assert f"cannot be written: {why}" in done.stderr


@pytest.mark.deep
def test_the_runtime_compiles_without_a_warning(compiler: str, tmp_path: Path) -> None:
    strict = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fno-builtin"]
    machine = ["-mcx16"] if "x86_64" in _machine(compiler) else []
    for mode in ([], ["-DHEADROOM_STATIC"]):
        for source in sorted(RUNTIME.glob("*.c")):
            target = str(tmp_path / "object.o")
            argv = [compiler, *strict, *machine, *mode, "-c", str(source), "-o", target]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


def _machine(compiler: str) -> str:
    argv = [compiler, "-dumpmachine"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_every_hooked_function_is_wrapped_in_a_static_program() -> None:
    sources = "".join(path.read_text("ascii") for path in RUNTIME.glob("*.c"))
    wrapped = {flag.removeprefix("-Wl,--wrap=") for flag in link_flags(is_static=True)}
    wrapped -= {"-static", "-pthread"}
    assert {name for name in wrapped if name not in sources} == set()
    assert {"malloc", "pthread_mutex_lock", "memcpy", "__libc_start_main"} <= wrapped
