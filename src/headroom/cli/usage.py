"""Wrong command lines as errors of Headroom: one plain message, and how to call the command."""

import re
from typing import Any

import typer

from headroom.errors import HeadroomError
from headroom.experiment.protocol.suggestions import suggestion

UsageError: type[Any] = typer.BadParameter.__mro__[1]
"""The base of all errors of usage, which typer does not export."""
_OPENINGS = {
    "No such option: ": "there is no option ",
    "No such command ": "there is no command ",
    "Missing argument ": "missing argument ",
    "Missing option ": "missing option ",
    "Got unexpected extra argument": "unexpected argument",
}
_SYNONYMS = (
    {"time", "seconds", "duration", "timeout"},
    {"jobs", "workers", "threads", "processes"},
    {"cpu", "core", "processor"},
)
"""Words for one thing: `--seconds` means `--time`, although `--records` is spelled more like it."""


def usage_error(error: Any, commands: list[str]) -> HeadroomError:  # noqa: ANN401 - typer's, private
    """Return an error of usage with a message and a hint.

    Parameters
    ----------
    error
        The error that typer raised, with its context.
    commands
        Commands that an unknown one may have meant.
    """
    message, context = _plain(error), error.ctx
    if unknown := re.match(r"there is no command `(.+?)`", message):
        known = commands if context.parent is None else context.command.list_commands(context)
        return HeadroomError(unknown[0], cure=suggestion(unknown[1], known))
    if meant := _synonym(error) or getattr(error, "possibilities", None):
        return HeadroomError(message, cure=f"did you mean `{'` or `'.join(meant)}`?")
    path = "headroom" if context is None else context.command_path
    if message.startswith(("missing", "unexpected")):
        return HeadroomError(message, cure=f"write `{_call(context)}`; `{path} -h` has the rest")
    return HeadroomError(message, cure=f"`{path} -h` lists what it takes")


def _synonym(error: Any) -> list[str]:  # noqa: ANN401 - as above
    """Return the option that an unknown one is another word for, if the command has it."""
    word = str(getattr(error, "option_name", "")).lstrip("-")
    same = next((words for words in _SYNONYMS if word in words), set())
    parameters = () if error.ctx is None else error.ctx.command.params
    names = [name for one in parameters for name in one.opts]
    return [name for name in names if name.startswith("--") and name.lstrip("-") in same]


def _plain(error: Any) -> str:  # noqa: ANN401 - as above
    """Return typer's message in the form of the others: lower case, names in backticks."""
    text = str(getattr(error, "message", "") if hasattr(error, "option_name") else "")
    text = (text or error.format_message()).strip().removesuffix(".")
    for opening, ours in _OPENINGS.items():
        if text.startswith(opening):
            text = ours + text.removeprefix(opening)
    text = re.sub(r"\(s\) \((.*)\)$", r" `\1`", text)
    text = re.sub(r"^(there is no option )(\S+)$", r"\1`\2`", text)
    text = re.sub(r"'([^']*)'", r"`\1`", text).replace("int range", "whole number")
    return text[:1].lower() + text[1:]


def _call(context: Any) -> str:  # noqa: ANN401 - as above
    """Return how the command is called: its name, its arguments and required options."""
    parameters = context.command.params
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one not in arguments and one.required]
    words = [one.make_metavar(context).strip("{}") for one in arguments]
    words += [f"{one.opts[0]} {one.metavar or one.opts[0].strip('-').upper()}" for one in options]
    return " ".join([context.command_path, *words])
