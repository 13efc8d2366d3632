"""The changes of a module that alter its meaning, each at one place of its syntax tree.

Left out is what no user and no test can see: documentation, annotations, decorators, messages,
texts, pauses, and what only words an error.

Invariant: the changes of a text are always the same, in the same order.
"""

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

_OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip
_EDGE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt
}  # fmt: skip
_WORDS = {"print", "say", "sleep", "error", "Error", "warn", "isinstance", "TypeVar", "cast"}
"""Calls whose arguments are words, pauses or types."""
_EITHER_WAY = {"max", "min", "isclose", "gcd", "hypot", "union", "zip"}
"""Calls for which the order of the arguments hardly matters."""
_NO_MEANING = {
    "cure", "encoding", "errors", "indent", "width", "strict", "check", "parents", "exist_ok",
    "timeout", "description", "source", "title", "daemon", "flush", "slots", "repr", "name",
    "capture_output", "text",
}  # fmt: skip
_DECLARED = {"annotation", "returns", "decorator_list", "type_params", "bases"}
_QUIET = {"__repr__", "__str__", "__rich__"}
_PAUSES = ("TIMEOUT", "PAUSE_S", "LIMIT_S", "PATIENCE_S", "TYPE_CHECKING", "__all__")
_EMPTY = {"list": "[]", "tuple": "()", "dict": "{}", "set": "set()", "frozenset": "frozenset()",
          "Sequence": "()", "Mapping": "{}", "str": "''"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A change at one place.

    Parameters
    ----------
    path
        Module, from the top of the repository.
    line
        Line of the place.
    before, after
        The code there.
    tree
        The syntax tree of the changed module.
    """

    path: str
    line: int
    before: str
    after: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a tree: the child of a node, and how to change it."""

    parent: ast.AST
    field: str
    index: int | None
    new: ast.AST

    @property
    def old(self) -> ast.AST:
        """The code that is replaced."""
        found = getattr(self.parent, self.field)
        return found if self.index is None else found[self.index]  # type: ignore[no-any-return]


def changes_of(path: str, text: str) -> list[Callable[[], Change]]:
    r"""Return the changes of a module, each as a function that makes it.

    Examples
    --------
    >>> [str(make()) for make in changes_of("a.py", "def f(a, n):\n    return a if n < 2 else 0")]
    ['a.py:2: n < 2  ->  n <= 2', 'a.py:2: 2  ->  3', 'a.py:2: 0  ->  1']
    """
    return [lambda at=at: _made(path, text, at) for at in range(len([*_places(ast.parse(text))]))]  # type: ignore[misc]  # a default binds it


def _made(path: str, text: str, at: int) -> Change:
    tree = ast.parse(text)
    place = [*_places(tree)][at]
    old = place.old
    if place.index is None:
        setattr(place.parent, place.field, place.new)
    else:
        getattr(place.parent, place.field)[place.index] = place.new
    ast.copy_location(place.new, old)
    line = getattr(old, "lineno", 0)
    return Change(path, line, _shown(old), _shown(place.new), ast.fix_missing_locations(tree))


def _shown(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _places(tree: ast.AST, returned: ast.expr | None = None) -> Iterator[_Place]:
    """Yield the places of a tree in the order of the text."""
    for field, value in ast.iter_fields(tree):
        if field in _DECLARED or (field == "keywords" and isinstance(tree, ast.ClassDef)):
            continue
        nodes = value if isinstance(value, list) else [value]
        for index, node in enumerate(nodes):
            if not isinstance(node, ast.AST) or _is_left_out(node):
                continue
            inner = node.returns if isinstance(node, ast.FunctionDef) else returned
            at = index if isinstance(value, list) else None
            for new in _news(node, tree, field, inner):
                yield _Place(tree, field, at, new)
            yield from _places(node, inner)


def _is_left_out(node: ast.AST) -> bool:  # noqa: PLR0911 - a table
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Raise() | ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(name=name):
            return name in _QUIET
        case ast.keyword(arg=str(name)):
            return name in _NO_MEANING
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return any(name == word or name.endswith(f"_{word}") for word in _WORDS)
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.If(body=[ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError")))], orelse=[]):
            return True
        case ast.Assign(targets=[ast.Attribute(attr="daemon")]):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name.endswith(_PAUSES) or _is_type(node)
    return False


def _is_type(node: ast.Assign | ast.AnnAssign) -> bool:
    """Return whether a statement names a type, such as `Value: TypeAlias = int | str`."""
    words = ast.unparse(node)
    return "TypeAlias" in words or "Literal[" in words


def _news(  # noqa: C901 - a table
    node: ast.AST, parent: ast.AST, field: str, returned: ast.expr | None
) -> Iterator[ast.AST]:
    """Yield the possible replacements of a node."""
    match node:
        case ast.Compare(ops=[op], left=left, comparators=[right]):
            is_edge = type(op) in _EDGE and (_is_whole(left) or _is_whole(right))
            yield _with(node, ops=[(_EDGE if is_edge else _OPPOSITE)[type(op)]()])
        case ast.BinOp(op=op) if type(op) in _OPPOSITE and not _is_text(node):
            yield _with(node, op=_OPPOSITE[type(op)]())
        case ast.BoolOp(op=op):
            yield _with(node, op=_OPPOSITE[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)) if not isinstance(parent, ast.Expr):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value=value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(value=value * 2.0 or 1.0)
        case ast.Call(func=function, args=args, keywords=keywords):
            if not (set(ast.unparse(function).split(".")) & _EITHER_WAY):
                yield from (_with(node, args=one) for one in _exchanged(args))
                yield from (_with(node, keywords=one) for one in _exchanged_values(keywords))
        case ast.Tuple(elts=elements) if field == "slice":
            yield from (_with(node, elts=one) for one in _exchanged(elements))
        case ast.Name() | ast.Attribute() if field == "test":
            yield ast.UnaryOp(op=ast.Not(), operand=node)
        case ast.Return(value=ast.expr() as value) if returned is not None:
            yield from (_with(node, value=one) for one in _other_value(value, returned))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _is_whole(node: ast.AST) -> bool:
    """Return whether a number is whole for certain, so that its neighbour is another case."""
    match node:
        case ast.Constant(value=int()):
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
    return False


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    is_text = any(isinstance(one, ast.JoinedStr) for one in sides)
    return is_text or any(isinstance(one, ast.Constant) and one.value is None for one in sides)


def _exchanged(nodes: Sequence[ast.expr]) -> Iterator[list[ast.expr]]:
    """Yield a sequence with two neighbours of one kind exchanged."""
    for place, (one, other) in enumerate(pairwise(nodes)):
        is_kind = isinstance(one, ast.Name | ast.Attribute | ast.Subscript | ast.Constant)
        if is_kind and type(one) is type(other) and ast.dump(one) != ast.dump(other):
            yield [*nodes[:place], other, one, *nodes[place + 2 :]]


def _exchanged_values(keywords: Sequence[ast.keyword]) -> Iterator[list[ast.keyword]]:
    """Yield keyword arguments with the values of two neighbours of one kind exchanged."""
    for new in _exchanged([one.value for one in keywords]):
        pairs = zip(keywords, new, strict=True)
        yield [ast.keyword(arg=one.arg, value=value) for one, value in pairs]


def _other_value(value: ast.expr, returned: ast.expr) -> Iterator[ast.expr]:
    """Yield another value of the type that a function returns."""
    if isinstance(value, ast.Constant | ast.Compare | ast.BoolOp | ast.UnaryOp):
        return  # these change by themselves
    match returned:
        case ast.Name(id="bool"):
            yield ast.UnaryOp(op=ast.Not(), operand=value)
        case ast.Name(id="int" | "float"):
            yield ast.BinOp(left=value, op=ast.Add(), right=ast.Constant(value=1))
        case ast.BinOp(right=ast.Constant(value=None)):
            yield ast.Constant(value=None)
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)) if name in _EMPTY:
            empty = ast.parse(_EMPTY[name], mode="eval").body
            if ast.dump(empty) != ast.dump(value):
                yield empty
