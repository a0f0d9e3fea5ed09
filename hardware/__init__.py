"""
Hardware descriptions: the keys a file may have, presets, and how one is read.

    hardware = load_hardware("igo-large", {"memory.spm_kib": 4096})
    hardware.require("dram.gb_per_s", backend="cycle")       # 150.0
"""

from npuc.hardware.description import Hardware, machine_target, mapping_target
from npuc.hardware.kinds import Key
from npuc.hardware.load import PRESETS, load_hardware, parse_setting, preset_names
from npuc.hardware.schema import KEYS

__all__ = [
    "KEYS",
    "PRESETS",
    "Hardware",
    "Key",
    "load_hardware",
    "machine_target",
    "mapping_target",
    "parse_setting",
    "preset_names",
]
