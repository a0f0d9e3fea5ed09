"""
The methods that are compared: what each changes in the programs of a training.

A method is a training in phases (`npuc.compiler.explore.training`), as a file of phases says one; `step` is the
network's own step in f32. Spans are shares of the whole length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from npuc.compiler.explore.training.phases import STEP, Phase, PhaseProgram, Training, Unit

PLAIN = "f32"
Mixes = tuple[tuple[float, Mapping[str, int]], ...]
"""Phases as the share of the length at which each ends, and the programs that it runs in turn."""


@dataclass(frozen=True)
class Method:
    """
    A method: its name, what it changes, its programs by their options, its phases, where it is from, and what its
    authors say that it gains, on other networks and machines than these.
    """

    name: str
    changes: str
    programs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    phases: Mixes = ((1.0, {STEP: 1}),)
    source: str = ""
    published: str = ""

    def training(self, unit: Unit, length: int, steps_per_epoch: int | None) -> Training:
        """The training of so many epochs or steps."""
        programs = tuple(PhaseProgram(name, options) for name, options in self.programs.items())
        phases: list[Phase] = []
        start = 0
        for number, (share, mix) in enumerate(self.phases):
            end = max(start + 1, round(share * length))
            phases.append(Phase(f"phase {number + 1}", unit, start, end, mix))
            start = end
        return Training(self.name, programs, tuple(phases), None, steps_per_epoch)


def _one(name: str, changes: str, options: Mapping[str, Any], source: str = "", published: str = "") -> Method:
    """A method of one program from the first step to the last."""
    return Method(name, changes, {name: options}, ((1.0, {name: 1}),), source, published)


ADA_GP: Final = ((10, {"bp": 1}), (14, {"gp": 4, "bp": 1}), (18, {"gp": 3, "bp": 1}), (22, {"gp": 2, "bp": 1}))
"""
Phases of ADA-GP by the epoch of 90 at which each ends, as in `samples/phases/ada-gp.toml`; then the steps alternate.
"""


def predicted(name: str, changes: str, beside: Mapping[str, Any], published: str = "") -> Method:
    """A method some of whose gradients are predicted, with further options of all its programs."""
    phases: Mixes = (*((end / 90, mix) for end, mix in ADA_GP), (1.0, {"gp": 1, "bp": 1}))
    programs = {kind: {**beside, "method": kind} for kind in ("bp", "gp")}
    return Method(name, changes, programs, phases, "Janfaza et al., MICRO 2023", published)


FIRST_LAYERS: Final = 10
"""The layers that stay in f32 where few bits begin behind the first ones: as FAST is compared with."""
_FAST = "Zhang, McDanel and Kung, HPCA 2022"


def methods(layers: int) -> tuple[Method, ...]:
    """All methods, for a network of so many layers with products."""
    kept = min(FIRST_LAYERS, layers // 2)
    behind = {"after": [f"lower-to-npu=quantize{{to=bfp-low first={kept}}}"]}
    low = {"quantize": "bfp-low"}
    return (
        Method(PLAIN, "nothing"),
        _one("bf16", "all floats in 16 bits", {"precision": "bf16"}),
        _one("mixed", "products in bf16, parameters in f32", {"precision": "mixed"}, "PyTorch's autocast"),
        _one("fp8", "operands of products in f8e4m3, gradients in f8e5m2", {"quantize": "fp8"}, "Micikevicius, 2022"),
        _one("int8", "operands of products in scaled integers", {"quantize": "int8"}),
        _one("bfp-low", "operands in block floats of 2 bits", low, _FAST),
        _one("bfp-mid", "operands in block floats of 3 bits", {"quantize": "bfp-mid"}, _FAST),
        _one("bfp-high", "operands in block floats of 4 bits", {"quantize": "bfp-high"}, _FAST),
        _one(
            "fast",
            "2 or 4 bits, by the controller of FAST",
            {"quantize": "fast"},
            _FAST,
            "2 to 6 times as fast as mixed precision or block floats at similar accuracy",
        ),
        Method(
            "temporal",
            "f32 in the first third, then block floats of 2 bits",
            {"low": low},
            ((1 / 3, {STEP: 1}), (1.0, {"low": 1})),
            _FAST,
        ),
        _one("layerwise", f"f32 in the first {kept} layers, 2 bits behind", behind, _FAST),
        _one(
            "noise",
            "normal noise on gradients, sigma 0.01",
            {"after": ["autodiff=gradient-noise{sigma=0.01}"]},
            "Neelakantan, 2015",
        ),
        _one("recompute", "activations run again in the backward pass", {"recompute": "full"}, "Chen, 2016"),
        _one(
            "reversible",
            "activations of residual pairs computed back",
            {"recompute": "reversible"},
            "Gomez, 2017; Zhang, HPCA 2024",
            "CAMEL, with eDRAM and a frozen backbone: 2.5 times as fast, 2.8 times less energy",
        ),
        _one("reversible, bfp-low", "both", {**low, "recompute": "reversible"}),
        predicted("ada-gp", "gradients predicted in some of the steps", {}, "1.47 times as fast, 34 % less energy"),
        predicted("ada-gp, bfp-low", "both", low),
    )
