"""Model functions of devices, and the parameters that a study may vary."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from headroom.errors import StudyError
from headroom.experiment.protocol.parameter_file import named_file, opening_comment, read_parameters
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Parameter, Value
from headroom.simulation import Model, Program
from headroom.systems.storage.devices.models.disks import DiskArray, build_disk
from headroom.systems.storage.devices.models.load import Request, add_load, load_parameters
from headroom.systems.storage.devices.models.memory import build_dram, build_flash
from headroom.systems.storage.devices.models.numbers import (
    ArrayNumbers,
    DeviceNumbers,
    DiskNumbers,
    DramNumbers,
    FlashNumbers,
    types_of,
)

PARAMETERS = Path(__file__).parent / "parameters"
"""Folder of the devices that come with Headroom."""

Build: TypeAlias = Callable[[Model, Any, Request], Program]
"""Adds a device with its numbers to a model; returns the program that carries out a request."""


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """A kind of device: its numbers, and its builder."""

    numbers: type[DeviceNumbers]
    build: Build
    example: str
    """Name of the file that comes with Headroom."""


def _build_array(model: Model, numbers: ArrayNumbers, request: Request) -> Program:
    return DiskArray(model, numbers, request).carry


KINDS: Mapping[str, DeviceKind] = {
    "disk": DeviceKind(DiskNumbers, build_disk, "disk"),
    "disk_array": DeviceKind(ArrayNumbers, _build_array, "eva4400"),
    "dram_device": DeviceKind(DramNumbers, build_dram, "ngs"),
    "flash_device": DeviceKind(FlashNumbers, build_flash, "flash_device"),
}


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """A model function whose parameters are the numbers of a device and of the load on it.

    Parameters
    ----------
    name
        Name of the device.
    kind
        One of `KINDS`.
    device_parameters
        Numbers of the device.
    place
        Location of its file, for messages.
    """

    name: str
    kind: str
    device_parameters: tuple[Parameter, ...]
    place: str

    @property
    def __name__(self) -> str:
        """Name of the device, for messages."""
        return self.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Numbers of the device, then those of the load."""
        return (*self.device_parameters, *load_parameters())

    @property
    def about(self) -> str:
        """The first lines of the parameter file, which are comments, about the device."""
        return opening_comment(Path(self.place.rpartition(":")[0]))

    def numbers(self, **changed: Value) -> Any:  # noqa: ANN401 - its class follows from the kind
        """Return the numbers of the device, with some changed.

        Raises
        ------
        StudyError
            A number is unknown, of the wrong type or out of its range.

        Examples
        --------
        >>> device_model("disk").numbers(rpm=7200.0).rpm
        7200.0
        """
        values: dict[str, Any] = dict(checked(self.name, self.device_parameters, changed))
        return KINDS[self.kind].numbers(**values)

    def __call__(self, **config: Value) -> Model:
        """Return the model of the device under a load, with some parameters changed."""
        own = {device_parameter.name for device_parameter in self.device_parameters}
        numbers = self.numbers(**{name: value for name, value in config.items() if name in own})
        asked = {name: value for name, value in config.items() if name not in own}
        load = checked(self.name, load_parameters(), asked)
        model = Model(f"{self.name} under load", time_unit="ms")
        request = Request.of(model)
        carry = KINDS[self.kind].build(model, numbers, request)
        add_load(model, load, carry, request, numbers.target_bytes)
        model.counted_by_hand(
            highest_throughput=math.inf,
            why="the time of a request depends on earlier requests, which formulas cannot express",
        )
        return model


def checked(
    word: str, parameters: tuple[Parameter, ...], changed: Mapping[str, Value]
) -> dict[str, Value]:
    """Return the value of each parameter, some of them changed.

    Raises
    ------
    StudyError
        One is unknown, of the wrong type or out of its range.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in changed:
        if name not in known:
            raise StudyError(f"{word!r} has no {name!r}", cure=suggestion(name, known))
    defaults = {parameter.name: parameter.default for parameter in parameters}
    return {**defaults, **{name: known[name].check(value) for name, value in changed.items()}}  # type: ignore[dict-item]  # a file gives each number a value


def device_parameters(kind: str, path: Path) -> tuple[Parameter, ...]:
    """Return the parameters that the file of a device of a kind declares."""
    device = KINDS[kind]
    return read_parameters(
        path, types_of(device.numbers), copy_of=PARAMETERS / f"{device.example}.toml"
    )


def device_model(kind: str, device: str | Path | None = None) -> DeviceModel:
    """Return the model function of a device: one of Headroom's own by name, or a parameter file.

    Parameters
    ----------
    kind
        ``"disk"``, ``"disk_array"``, ``"dram_device"`` or ``"flash_device"``.
    device
        Name of one that comes with Headroom, or the path of a file (TOML); None is the usual one.

    Raises
    ------
    StudyError
        The file is missing or wrong.

    Examples
    --------
    >>> from headroom.simulation import simulate
    >>> result = simulate(device_model("disk")(requests=200), seed=1)
    >>> int(result.classes.columns["completion_count"][-1].sum())
    200
    """
    path = named_file(device or KINDS[kind].example, PARAMETERS, kind.replace("_", " "))
    return DeviceModel(
        name=path.stem,
        kind=kind,
        device_parameters=device_parameters(kind, path),
        place=f"{path}:1",
    )
