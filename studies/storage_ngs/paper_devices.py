"""PostMark on either device of the paper, so that claims can set one against the other.

The models are the registered `postmark_ngs` and `postmark_eva4400`; here the device is a factor.
"""

from dataclasses import dataclass

from headroom.experiment.protocol.system import Metric, Parameter, Value
from headroom.simulation import Model, SimulationResult
from headroom.systems.storage.devices.models import POSTMARK_EVA4400, POSTMARK_NGS

MODELS = {"NGS": POSTMARK_NGS, "EVA4400": POSTMARK_EVA4400}
_OF_BOTH = {parameter.name for parameter in POSTMARK_NGS.parameters} & {
    parameter.name
    for parameter in POSTMARK_EVA4400.parameters
    if parameter.name.startswith("postmark_")
}


@dataclass(frozen=True, slots=True)
class PaperDevices:
    """A model function: PostMark, and what it runs on."""

    place: str = __file__

    @property
    def __name__(self) -> str:
        """Name for messages."""
        return "PostMark on a device of Kang and Cheong"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The device, and the parameters of the benchmark; the devices keep their own numbers."""
        device = Parameter(
            name="device",
            type="str",
            unit="",
            default="NGS",
            choices=tuple(MODELS),
            source="paper by Kang and Cheong, table 1",
            description="What PostMark runs on",
        )
        return (
            device,
            *(parameter for parameter in POSTMARK_NGS.parameters if parameter.name in _OF_BOTH),
        )

    @property
    def own_metrics(self) -> tuple[Metric, ...]:
        """Figures of a whole run."""
        return POSTMARK_NGS.own_metrics

    def own_values(self, result: SimulationResult) -> dict[str, float]:
        """Return `own_metrics` of a run."""
        return POSTMARK_NGS.own_values(result)

    def __call__(self, *, device: str, **benchmark: Value) -> Model:
        """Return the model of one device under the benchmark."""
        return MODELS[device](**benchmark)


build = PaperDevices()
