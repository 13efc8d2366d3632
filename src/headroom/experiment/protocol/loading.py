"""A worker that loads the module of a model function must not start a run: that would not end.

Invariant: while a function is loaded, `refuse_runs` raises, so no worker ever starts workers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from headroom.errors import StudyError

_label: ContextVar[str] = ContextVar("label", default="")


@contextmanager
def loading(label: str) -> Iterator[None]:
    """Load a function of a user's module in the block; runs in it are refused.

    Examples
    --------
    >>> with loading("shop"):
    ...     try:
    ...         refuse_runs()
    ...     except StudyError as error:
    ...         print(error.message)
    the module of the model function 'shop' starts a run when it is imported
    """
    token = _label.set(label)
    try:
        yield
    finally:
        _label.reset(token)


def refuse_runs() -> None:
    """Raise in a block of `loading`."""
    if label := _label.get():
        raise StudyError(
            f"the module of the model function {label!r} starts a run when it is imported",
            cure='put its calls under `if __name__ == "__main__":`, or the function into a file '
            "of its own",
        )
