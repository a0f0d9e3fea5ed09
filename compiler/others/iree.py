"""IREE: the program in MLIR's own dialects, compiled for this machine's CPU and run in one thread."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, cast

import numpy as np

from npuc.compiler.layers.base import Array
from npuc.compiler.others.base import Other

_FLAGS = ("--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false")
"""As the machine is, and with floats of 64 bits as they are."""


class Iree(Other):
    """IREE's compiler and runtime."""

    name = "iree"
    title = "IREE"
    emits = "linalg"
    extra = "iree"
    modules = ("iree.compiler", "iree.runtime")

    def version(self) -> str:
        """See `Other`."""
        return version("iree-base-compiler")

    def compute(self, text: str, function: str, values: Sequence[Array]) -> list[Array]:
        """See `Other`."""
        compiler: Any = import_module("iree.compiler")
        runtime: Any = import_module("iree.runtime")
        made = compiler.compile_str(text, input_type="none", target_backends=["llvm-cpu"], extra_args=list(_FLAGS))
        context = runtime.SystemContext(config=runtime.Config("local-sync"))
        module = runtime.VmModule.copy_buffer(context.instance, made)
        context.add_vm_module(module)
        found: Any = context.modules[module.name][function](*values)
        results: list[Any] = list(cast("list[Any]", found)) if isinstance(found, list | tuple) else [found]
        return [np.asarray(one.to_host() if hasattr(one, "to_host") else one) for one in results]


OTHER = Iree()
