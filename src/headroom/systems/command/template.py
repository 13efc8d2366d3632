"""Texts with `{placeholders}`: arguments, environment values and paths of a command.

Invariant: a text without braces means itself, and no value is ever read as a placeholder, as
an option separator or by a shell.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value

_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z][A-Za-z0-9_-]*(?:\.[a-z][a-z0-9_]*)?)\}|[{}]")
_BRACES = {"{{": "{", "}}": "}"}
_LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Template:
    """A text split at its placeholders.

    Parameters
    ----------
    literals
        The texts around the placeholders, one more than `names`.
    names
        The placeholders in their order.

    Examples
    --------
    >>> template = parse_template("--level={level}")
    >>> template.names
    ('level',)
    >>> template.fill({"level": 9})
    '--level=9'
    >>> parse_template("{{ print $1 }}").fill({})
    '{ print $1 }'
    """

    literals: tuple[str, ...]
    names: tuple[str, ...]

    def fill(self, values: Mapping[str, Value]) -> str:
        """Return the text with every placeholder replaced by its value."""
        parts = [self.literals[0]]
        for name, literal in zip(self.names, self.literals[1:], strict=True):
            parts += [written(values[name]), literal]
        return "".join(parts)


def parse_template(text: str) -> Template:
    """Return the template of `text`; raise `StudyError` for a stray brace or a zero byte."""
    _check_zero_byte(text)
    literals, names, position = [""], [], 0
    for token in _TOKEN.finditer(text):
        literals[-1] += text[position : token.start()]
        position = token.end()
        if token[1] is not None:
            names.append(token[1])
            literals.append("")
        elif token[0] in _BRACES:
            literals[-1] += _BRACES[token[0]]
        else:
            raise _stray_brace(text, token.start())
    literals[-1] += text[position:]
    return Template(tuple(literals), tuple(names))


def written(value: Value) -> str:
    """Return `value` as a program expects it on its command line.

    Examples
    --------
    >>> [written(value) for value in (3, 3.0, 0.25, True, "fast")]
    ['3', '3', '0.25', 'true', 'fast']
    """
    if isinstance(value, str):
        _check_zero_byte(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_EXACT:
        return str(int(value))
    return str(value)


def _check_zero_byte(text: str) -> None:
    if "\0" in text:
        raise StudyError(
            f"{text!r} holds a zero byte, which no text given to a program can hold",
            cure="write the text without it",
        )


def _stray_brace(text: str, position: int) -> StudyError:
    return StudyError(
        f"{text!r} has a brace at character {position + 1} that belongs to no placeholder",
        cure="write {{ or }} for a brace, {name} for a placeholder (letters, digits, _ and -)",
    )
