"""
Hardware descriptions: the keys a file may have, presets, and how one is read.

    hardware = load_hardware("igo-large", {"memory.spm_kib": 4096})
    hardware.require("dram.gb_per_s", backend="cycle")       # 150.0
"""

from npuc.compiler.core.kinds import Flag, Integer, Key, OneOf, Real, Text
from npuc.hardware.description import Hardware, machine_target, mapping_target
from npuc.hardware.load import (
    PRESETS,
    constraint_names,
    load_constraints,
    load_hardware,
    machine_constraints,
    parse_setting,
    preset_names,
    text_of_hardware,
)
from npuc.hardware.schema import KEYS

__all__ = [
    "KEYS",
    "PRESETS",
    "Flag",
    "Hardware",
    "Integer",
    "Key",
    "OneOf",
    "Real",
    "Text",
    "constraint_names",
    "load_constraints",
    "load_hardware",
    "machine_constraints",
    "machine_target",
    "mapping_target",
    "parse_setting",
    "preset_names",
    "text_of_hardware",
]
