"""
The array, the constraints, and the models.

All machines are one array of 1,024 elements with the same buffers and network: they differ by the mappings that they
allow alone, so that what is compared is the map space. Its sizes are ours.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from npuc.compiler.explore.mapping.result import Settings

Preset = Literal["inference", "training"]
PRESETS: tuple[Preset, ...] = ("inference", "training")
Model = Literal["exact", "parity"]
MODELS: tuple[Model, ...] = ("exact", "parity")
MODEL_TEXT: Mapping[Model, str] = {
    "exact": "npuc's, which counts what each loop moves",
    "parity": "MAESTRO's own numbers",
}
LAYERS = str(Path(__file__).with_name("layers.dsl"))
HARDWARE = "maestro-example"
ARRAY: Mapping[str, int] = {
    "maestro.num_pes": 1024,
    "maestro.noc_bw": 64,
    "maestro.offchip_bw": 32,
    "maestro.l1_size": 1024,
    "maestro.l2_size": 262_144,
}
"""Elements, elements a cycle of the network and off chip, and elements in buffers."""
FIXED = ("eyeriss", "nvdla", "shidiannao", "tpu")
"""The machines by the name of their constraints."""
FREE = "free"
"""The machine that allows every mapping."""
EVALUATIONS = 400
CONVERGENCE: Mapping[Model, str] = {"exact": "", "parity": "not converged: grows with --evaluations"}
"""What is known of means over `free` on the study's own contractions from so many evaluations on."""
UNKNOWN = "may change with --evaluations"
"""What is said of means on other contractions."""
SEED = 0


def settings(evaluations: int) -> Settings:
    """What the mapper does, the same on each machine and by each model: so many mappings of each contraction."""
    return Settings("time", "genetic", evaluations, SEED, 2, 1, "divisors")
