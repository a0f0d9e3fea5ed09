"""XLA: the program in StableHLO, compiled by the CPU client of JAX."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.compiler.others.base import Other


class Xla(Other):
    """The XLA of jaxlib."""

    name = "xla"
    title = "XLA of jaxlib"
    emits = "stablehlo"
    extra = "jax"
    modules = ("jax", "jaxlib")

    def version(self) -> str:
        """See `Other`."""
        return version("jaxlib")

    def compute(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        """See `Other`. XLA runs the function that is called main, which the emitter sees to."""
        jax: Any = import_module("jax")
        backend: Any = import_module("jax.extend.backend").get_backend("cpu")
        options: Any = import_module("jaxlib.xla_client").CompileOptions()
        with jax.enable_x64(True):
            made = backend.compile_and_load(text, backend.devices()[:1], options)
            device = backend.devices()[0]
            found = made.execute_sharded([jax.device_put(value, device) for value in values])
            return [np.asarray(one[0]) for one in found.disassemble_into_single_device_arrays()]


OTHER = Xla()
