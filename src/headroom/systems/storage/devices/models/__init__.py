"""Models of storage devices, and of PostMark on them, for the simulation kernel."""

from headroom.systems.storage.devices.models.device import DeviceModel, device_model
from headroom.systems.storage.devices.models.postmark import EVA4400 as POSTMARK_EVA4400
from headroom.systems.storage.devices.models.postmark import NGS as POSTMARK_NGS
from headroom.systems.storage.devices.models.postmark import PostmarkModel

DISK = device_model("disk")
"""A mechanical disk."""
DISK_ARRAY = device_model("disk_array")
"""Disks behind controllers with a write cache: the EVA4400 of Kang and Cheong."""
DRAM_DEVICE = device_model("dram_device")
"""Memory behind ports: the NGS of Kang and Cheong."""
FLASH_DEVICE = device_model("flash_device")
"""Flash behind channels, with garbage collection."""

__all__ = [
    "DISK",
    "DISK_ARRAY",
    "DRAM_DEVICE",
    "FLASH_DEVICE",
    "POSTMARK_EVA4400",
    "POSTMARK_NGS",
    "DeviceModel",
    "PostmarkModel",
    "device_model",
]
