"""Parameters that a what-if changes: checked like the levels of a factor, then simply set.

Invariant: a study could have had the changed configuration.
"""

from collections.abc import Mapping, Sequence

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import Change, split_changes
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Modelled, Parameter, System, Value
from headroom.experiment.study.levels import checked_level


def with_parameters(
    config: Mapping[str, Value], changes: Sequence[Change], declared: Sequence[Parameter]
) -> dict[str, Value]:
    """Return `config` with changed parameters.

    Parameters
    ----------
    config
        Value of every parameter.
    changes
        Changes of parameters.
    declared
        What the system declares.

    Raises
    ------
    StudyError
        A name is unknown, a value is not of the type or out of the range, or nothing changes.

    Examples
    --------
    >>> from headroom.experiment.protocol.changes import parse_change
    >>> rate = Parameter(name="rate", type="float", unit="1/s", source="assumed", high=100)
    >>> with_parameters({"rate": 8.0}, [parse_change("rate=x1.5")], [rate])
    {'rate': 12.0}
    """
    known = {parameter.name: parameter for parameter in declared}
    changed = dict(config)
    for change in changes:
        if change.name not in known:
            raise StudyError(
                f"{change.text}: the system has no parameter {change.name!r}",
                cure=f"{suggestion(change.name, known)}; a station is changed with "
                f"station.NAME.servers={change.word or 'x2'}",
            )
        parameter = known[change.name]
        value = _new_value(change, changed.get(change.name), parameter)
        changed[change.name] = checked_level(value, parameter)
    if changes and changed == dict(config):
        texts = "; ".join(change.text for change in changes)
        raise StudyError(
            f"{texts} changes nothing: the parameter already has that value",
            cure="give another value",
        )
    return changed


def _new_value(change: Change, old: Value | None, parameter: Parameter) -> Value:
    if not change.is_factor:
        return _value(change.word, parameter)
    if isinstance(old, bool) or not isinstance(old, (int, float)):
        raise StudyError(
            f"{change.text}: parameter {change.name!r} is {old!r}, not a number to multiply",
            cure=f"give the new value: {change.name}=VALUE",
        )
    product = old * change.value
    return round(product) if isinstance(old, int) and product == round(product) else product


def _value(word: str, parameter: Parameter) -> Value:
    """Return a written value; text stays text if the parameter takes text."""
    if parameter.type == "str":
        return word
    if word in {"true", "false"}:
        return word == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def check_changes(system: System, config: Mapping[str, Value], changes: Sequence[Change]) -> None:
    """Raise `StudyError` if the system of `config` cannot be changed so."""
    parameters, resources = split_changes(changes)
    changed = with_parameters(config, parameters, system.parameters())
    if resources and not isinstance(system, Modelled):
        raise StudyError(
            f"the system {system.name!r} cannot change its resources",
            cure="change a parameter of it instead",
        )
    if parameters:
        system.metrics(changed)  # Values that the changes make impossible are rejected here.
    if isinstance(system, Modelled):
        system.model(changed, resources)  # refuses impossible changes
