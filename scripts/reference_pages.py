"""Write the reference pages from the code: what the code says is the only source.

`make docs` writes the pages to `docs/reference/`, and a test compares them with the code.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import typer

import headroom.simulation
from headroom.cli.app import app
from headroom.errors import ExitCode
from headroom.experiment import study
from headroom.experiment.registry import find_system, system_names
from scripts.docstrings import attribute_docs, one_line, opening, parameter_section, section

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTICE = "<!-- Written by `make docs` from the code; edit the code instead. -->\n"

EXIT_CODES = {
    ExitCode.DONE: "Done: everything that was asked for is there.",
    ExitCode.POINTS_FAILED: "Some points failed; the others are saved and shown.",
    ExitCode.USAGE: "Wrong usage: an option, a study file, a parameter or a model.",
    ExitCode.CLAIMS_DIFFER: "`--check` was given, and not every claim holds.",
    ExitCode.ENVIRONMENT: "The machine is unfit: a program is missing, the disk is full, "
    "a journal is damaged.",
    ExitCode.INTERRUPTED: "Interrupted; finished replications are saved, run it again to carry on.",
}


def reference_pages() -> dict[str, str]:
    """Return file name -> text of every generated page."""
    return {
        "command-line.md": command_line(),
        "study-file.md": study_file(),
        "systems.md": systems(),
        "model-builder.md": model_builder(),
    }


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    r"""Return a Markdown table, empty where there are no rows.

    Examples
    --------
    >>> print(table(("a", "b"), [("1", "x|y")]), end="")
    | a | b |
    | --- | --- |
    | 1 | x\|y |
    """
    if not rows:
        return ""
    lines = [header, tuple("---" for _ in header), *rows]
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    escaped[1] = ["---" for _ in header]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def command_line() -> str:
    """Return the page of the command line, walked from the command itself."""
    root: Any = typer.main.get_command(app)
    parts = [NOTICE, "# Command line\n", f"{one_line(root.help)}\n"]
    parts.append("## Exit codes\n")
    parts.append(
        table(("code", "meaning"), [(str(int(code)), EXIT_CODES[code]) for code in ExitCode])
    )
    parts.append(
        "Results go to stdout; progress, notes and errors go to stderr. `NO_COLOR` switches "
        "colours off.\n"
    )
    for name, command in root.commands.items():
        parts += _command_section(name, command)
    return "\n".join(parts)


def _command_section(name: str, command: Any) -> list[str]:  # noqa: ANN401  # click has no stubs here
    context = typer.Context(command, info_name=f"headroom {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    arguments = [
        (f"`{item.make_metavar(context)}`", one_line(item.help or ""))
        for item in command.params
        if item.param_type_name == "argument"
    ]
    options = [
        (f"`{', '.join(item.opts)}`", one_line(item.help or ""), _environment(item))
        for item in command.params
        if item.param_type_name == "option" and not item.hidden
    ]
    return [
        f"## headroom {name}\n",
        f"{one_line(command.help)}\n",
        f"```text\nheadroom {name} {usage}\n```\n",
        table(("argument", "meaning"), arguments),
        table(("option", "meaning", "variable"), options),
    ]


def _environment(item: Any) -> str:  # noqa: ANN401
    return f"`{item.envvar}`" if item.envvar else ""


def study_file() -> str:
    """Return the page of the study file, from the types that check it."""
    parts = [
        NOTICE,
        "# Study file\n",
        "A study is a folder with a `study.toml`. Unknown keys are refused with file, line and "
        "the likely correction. `headroom schema` prints the same as a JSON schema, for editors.\n",
    ]
    for struct, title in _STUDY_TABLES:
        parts += [f"## {title}\n", f"{opening(struct)}\n", fields_table(struct)]
    return "\n".join(parts)


_STUDY_TABLES: list[tuple[type[msgspec.Struct], str]] = [
    (study.Study, "The file"),
    (study.Experiment, "`[[experiment]]`"),
    (study.Sourced, "A fixed value with its source"),
    (study.Range, "A range of levels"),
    (study.Replications, "`[experiment.replications]`"),
    (study.WarmUp, "`[experiment.warm_up]`"),
    (study.Quick, "`[experiment.quick]`"),
    (study.ValueClaim, '`[[claim]]` with `kind = "value"`'),
    (study.RatioClaim, '`[[claim]]` with `kind = "ratio"`'),
    (study.OrderingClaim, '`[[claim]]` with `kind = "ordering"`'),
    (study.MonotoneClaim, '`[[claim]]` with `kind = "monotone"`'),
    (study.FlatClaim, '`[[claim]]` with `kind = "flat"`'),
    (study.KneeClaim, '`[[claim]]` with `kind = "knee"`'),
]


def fields_table(struct: type[msgspec.Struct]) -> str:
    """Return the keys of a table of the study file: type, default, meaning."""
    meanings = attribute_docs(struct)
    rows = [
        (
            f"`{item.encode_name}`",
            _type_words(item.type),
            _default_words(item),
            meanings.get(item.name, ""),
        )
        for item in msgspec.structs.fields(struct)
    ]
    return table(("key", "type", "default", "meaning"), rows)


def _default_words(item: msgspec.structs.FieldInfo) -> str:
    if item.required:
        return "required"
    if item.default_factory is not msgspec.NODEFAULT:
        value = item.default_factory()
    else:
        value = item.default
    if value is None or value in ("", [], {}, ()):
        return "none"
    if isinstance(value, msgspec.Struct):
        given = {key: item for key, item in msgspec.to_builtins(value).items() if item is not None}
        return f"`{msgspec.json.encode(given).decode()}`"
    return f"`{msgspec.json.encode(value).decode()}`"


def _type_words(annotation: Any) -> str:  # noqa: ANN401  # any annotation
    """Return a type in the words of TOML, with its bounds.

    Examples
    --------
    >>> from typing import Annotated, Literal
    >>> _type_words(Annotated[int, msgspec.Meta(ge=1, lt=10)])
    'integer, at least 1, below 10'
    >>> _type_words(list[Literal["a", "b"]] | None)
    'list of "a" or "b"'
    """
    return _schema_words(msgspec.json.schema(annotation))


_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


def _schema_words(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(msgspec.json.encode(value).decode() for value in schema["enum"])
    if "anyOf" in schema:
        words = [_schema_words(item) for item in schema["anyOf"] if item != {"type": "null"}]
        return " or ".join(dict.fromkeys(words))
    kind = schema.get("type", "object" if "$ref" in schema else "any value")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {_schema_words(schema.get('items', {}))}"
    bounds = [f"{word} {schema[key]:g}" for key, word in _BOUNDS.items() if key in schema]
    return ", ".join(["table" if kind == "object" else kind, *bounds])


def systems() -> str:
    """Return the page of the registered systems, their set-up and what they report."""
    parts = [NOTICE, "# Systems\n"]
    parts.append(
        "`[experiment.system]` names a system; its other keys are the system's own. A plug-in "
        "adds systems with the entry point group `headroom.systems`.\n"
    )
    for name in system_names():
        parts += _system_section(name)
    return "\n".join(parts)


def _system_section(name: str) -> Iterator[str]:
    system = find_system(name)
    yield f"## `{name}` (column: {system.column.value})\n"
    yield f"{opening(system)}\n"
    yield "### Keys\n"
    yield fields_table(system.setup_type)
    for struct in _structs_within(system.setup_type):
        yield f"### `{name}`: table {_words_of(struct)}\n"
        yield f"{opening(struct)}\n"
        yield fields_table(struct)


def _structs_within(struct: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """Return the tables that a set-up may hold, in the order of its keys."""
    found: list[type[msgspec.Struct]] = []

    def walk(kind: Any) -> None:  # noqa: ANN401  # one of msgspec's own types
        if isinstance(kind, msgspec.inspect.StructType) and kind.cls is not struct:
            found.append(kind.cls)
        for name in ("item_type", "value_type"):
            if hasattr(kind, name):
                walk(getattr(kind, name))
        for inner in getattr(kind, "types", ()):
            walk(inner)

    root = msgspec.inspect.type_info(struct)
    assert isinstance(root, msgspec.inspect.StructType)  # noqa: S101  # a set-up is a struct
    for item in root.fields:
        walk(item.type)
    return list(dict.fromkeys(found))


def _words_of(struct: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", struct.__name__).lower()


def model_builder() -> str:
    """Return the page of the model builder, from its docstrings."""
    module = headroom.simulation
    parts = [NOTICE, "# Model builder\n", f"{opening(module)}\n"]
    for name in _exported(module):
        item = getattr(module, name)
        if inspect.isclass(item):
            parts += _class_section(name, item)
        elif inspect.isfunction(item):
            parts += [f"## `{name}{_signature(item)}`\n", _doc_section(item)]
    return "\n".join(parts)


@cache
def _exported(module: ModuleType) -> tuple[str, ...]:
    return tuple(sorted(module.__all__, key=lambda name: (not name[0].isupper(), name)))


def _class_section(name: str, item: type) -> Iterator[str]:
    yield f"## `{name}`\n"
    yield _doc_section(item)
    for method, function in vars(item).items():
        if method.startswith("_") or not inspect.isfunction(inspect.unwrap(function)):
            continue
        yield f"### `{name}.{method}{_signature(function)}`\n"
        yield _doc_section(function)


def _signature(function: Callable[..., Any]) -> str:
    """Return the call as a reader writes it: names, stars and defaults, no types."""
    signature = inspect.signature(function)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return str(
        signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    ).replace("\n", " ")


def _doc_section(item: object) -> str:
    """Return a NumPy docstring as Markdown; its examples run as tests of the code itself."""
    doc = inspect.getdoc(item) or ""
    parameters = [(f"`{name}`", text) for name, text in parameter_section(doc).items()]
    parts = [f"{opening(item)}\n", table(("parameter", "meaning"), parameters)]
    for title in ("Returns", "Raises", "Notes"):
        body = section(doc, title)
        if body:
            parts.append(f"*{title}:* {one_line(body)}\n")
    examples = section(doc, "Examples")
    if examples:
        parts.append(f"```pycon\n{examples}\n```\n")
    return "\n".join(part for part in parts if part)
