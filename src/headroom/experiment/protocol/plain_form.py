"""Models and declarations as plain data, and back, without running anything.

A file of a stranger may hold such data. So reading it calls nothing: no constructor, no function,
no import but of Headroom's own modules. It makes objects of the classes that describe models and
parameters, and sets their fields.

Invariant: what is read is equal to what was written, shared parts included.
"""

import dataclasses
import zlib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import msgspec

from headroom.errors import StudyError

_MODULES = ("headroom.simulation.language.", "headroom.simulation.laws.")
_ALSO = {"headroom.experiment.protocol.system"}
_WITHOUT_FIELDS = {"Model", "Program", "Expression", "Attribute"}
"""Classes of those modules that are no dataclasses and data all the same."""
_COLLECTIONS: dict[str, type] = {
    kind.__name__: kind for kind in (list, tuple, dict, set, frozenset, Counter)
}
_MOST_BYTES = 1 << 28
_MALFORMED = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


def to_bytes(content: object) -> bytes:
    """Return plain data as bytes; `TypeError` for anything that is none.

    Examples
    --------
    >>> from_bytes(to_bytes({"a": (1, 2.5, frozenset({"b"}))}))
    {'a': (1, 2.5, frozenset({'b'}))}
    >>> to_bytes(print)
    Traceback (most recent call last):
    ...
    TypeError: builtin_function_or_method is no plain data
    """
    writer = _Writer()
    root = writer.value(content)
    return zlib.compress(msgspec.msgpack.encode([root, writer.nodes]), 1)


def from_bytes(content: bytes) -> Any:  # noqa: ANN401 - whatever was written
    """Return what `to_bytes` wrote.

    Raises
    ------
    StudyError
        It was damaged, or written by something else.
    """
    try:
        packed = zlib.decompressobj().decompress(content, _MOST_BYTES)
        root, nodes = msgspec.msgpack.decode(packed)
        return _Reader(nodes).value(root)
    except (zlib.error, msgspec.MsgspecError, *_MALFORMED) as error:
        raise damaged() from error


def damaged() -> StudyError:
    """Return the error of a model in the journal that cannot be used."""
    return StudyError(
        "the model that a run left in the journal is damaged",
        cure="run the study: that stores it again",
    )


class _Writer:
    """Values as they are, and of everything else a number: that of its node."""

    def __init__(self) -> None:
        self.nodes: list[list[Any]] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[object] = []

    def value(self, one: object) -> object:
        if one is None or isinstance(one, bool | str | bytes):
            return one
        if isinstance(one, int | float):
            return int(one) if isinstance(one, int) else float(one)
        if id(one) not in self._numbers:
            self._numbers[id(one)] = len(self.nodes)
            self._alive.append(one)  # An address is used again once its object is gone.
            node: list[Any] = [_kind_of(one)]
            self.nodes.append(node)
            node.append([self.value(part) for part in _parts(one)])
        return [self._numbers[id(one)]]


def _kind_of(one: object) -> str:
    kind = type(one)
    if _COLLECTIONS.get(kind.__name__) is kind:
        return kind.__name__
    if not _is_data(kind):
        raise TypeError(f"{kind.__name__} is no plain data")
    return f"{kind.__module__}:{kind.__name__}"


def _parts(one: object) -> Iterator[object]:
    """Yield the parts of an object; names and values in turn, if it has names for them."""
    if isinstance(one, dict):
        for pair in one.items():
            yield from pair
    elif isinstance(one, list | tuple | set | frozenset):
        yield from one
    else:
        slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
        for name in dict.fromkeys([*slots, *getattr(one, "__dict__", {})]):
            if hasattr(one, name):
                yield from (name, getattr(one, name))


def _is_data(kind: type) -> bool:
    is_known = kind.__module__ in _ALSO or kind.__module__.startswith(_MODULES)
    return is_known and (dataclasses.is_dataclass(kind) or kind.__name__ in _WITHOUT_FIELDS)


class _Reader:
    """The opposite of `_Writer`; it trusts nothing."""

    def __init__(self, nodes: list[list[Any]]) -> None:
        self._nodes = nodes
        self._made: dict[int, object] = {}

    def value(self, written: object) -> object:
        if not isinstance(written, list):
            return written
        (number,) = written
        if number not in self._made:
            kind, parts = self._nodes[number]
            make = self._collection if kind in _COLLECTIONS else self._object
            self._made[number] = make(number, kind, parts)
        return self._made[number]

    def _collection(self, _number: int, kind: str, parts: list[Any]) -> object:
        values = [self.value(part) for part in parts]
        if kind in {"dict", "Counter"}:
            return _COLLECTIONS[kind](zip(values[::2], values[1::2], strict=True))
        return _COLLECTIONS[kind](values)

    def _object(self, number: int, kind: str, parts: list[Any]) -> object:
        module, _, name = kind.partition(":")
        if module not in _ALSO and not module.startswith(_MODULES):
            raise ValueError(f"{kind} is no plain data")
        found = getattr(import_module(module), name)
        if not isinstance(found, type) or found.__module__ != module or not _is_data(found):
            raise ValueError(f"{kind} is no plain data")
        made: object = object.__new__(found)
        self._made[number] = made
        for field, value in zip(parts[::2], parts[1::2], strict=True):
            if not isinstance(field, str) or field.startswith("__"):
                raise ValueError(f"{field!r} is no field")
            object.__setattr__(made, field, self.value(value))
        return made
