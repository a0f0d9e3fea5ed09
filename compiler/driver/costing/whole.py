"""The whole step of a program whose backward pass a backend derives by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.backends.base import Backend
    from npuc.hardware import Hardware


def whole_step_for(module: ModuleOp, model: Backend, machine: Hardware) -> ModuleOp:
    """The program with the backward pass that a backend derives by itself, to see what devices exchange in it."""
    from npuc.dialects.distributed import mesh_of
    from npuc.dialects.train.signature import training_functions

    if not model.derives_backward or all(mesh_of(func) is None for func in training_functions(module)):
        return module
    from npuc.compiler.transforms.autodiff import whole_step
    from npuc.compiler.transforms.bucket_gradients import bucket_derived
    from npuc.compiler.transforms.schedule_collectives import schedule_derived
    from npuc.hardware.network import stamp_network

    step = whole_step(module)
    if step is not module:
        stamp_network(step, machine)
        bucket_derived(step)
        schedule_derived(step)
    return step
