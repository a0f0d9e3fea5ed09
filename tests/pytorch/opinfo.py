"""
PyTorch's own samples of its operators (OpInfo) as exported programs, computed here and there.

    python -m tests.pytorch.opinfo [GLOB…]        # counts of equal, refused and wrong samples of each operator

A sample becomes a module of one call: floats that have a gradient are its parameters, all other tensors its inputs. Its
results are compared, and the gradients of a weighted sum of those that are floats.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.testing._internal import common_methods_invocations
from torch.utils import _pytree as pytree

from npuc.compiler import describe_source, run_source
from npuc.compiler.core.errors import NpucError

TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-1}
"""The largest difference, relative to the largest element, by the type that PyTorch computes in."""
COARSE = {"nn.functional.hardsigmoid": 1e-7}
"""Operators of whose constants PyTorch keeps fewer digits: 1 / 6 in single precision."""
PLACES = frozenset("argsort sort topk msort max min median nanmedian kthvalue mode".split())
"""Operators whose places are any of those of equal elements: samples of integers have such."""
DTYPES = (torch.float64, torch.int64, torch.bool)
"""The element types of samples."""
RANDOM = frozenset(
    "bernoulli cauchy exponential geometric log_normal multinomial normal rand_like randint randint_like randn "
    "randn_like uniform rand empty empty_like empty_permuted empty_strided new_empty new_empty_strided "
    "nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d "
    "nn.functional.feature_alpha_dropout nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d "
    "nn.functional.rrelu svd_lowrank pca_lowrank torch.ops.aten._efficient_attention_forward "
    "torch.ops.aten._flash_attention_forward".split()
)
"""Operators whose results are random or not defined."""


KNOWN: Sequence[Any] = common_methods_invocations.op_db
"""What PyTorch says of its operators: how they are called, their types, samples of their arguments."""


@dataclass(frozen=True)
class Sample:
    """A call of an operator: its OpInfo, the type of its elements, and its number among those of both."""

    op: Any
    dtype: torch.dtype
    number: int
    call: Any

    def __str__(self) -> str:
        return f"{self.op.formatted_name} {str(self.dtype).removeprefix('torch.')} {self.number}"


@dataclass(frozen=True)
class Verdict:
    """What became of a sample: equal, refused, wrong, or not exported by PyTorch; and why."""

    kind: str
    why: str = ""


def operators(*globs: str) -> list[Any]:
    """The operators that are compared, by name."""
    found = [op for op in KNOWN if op.name not in RANDOM and not op.name.startswith("jiterator")]
    return [op for op in found if not globs or any(fnmatch(op.formatted_name, glob) for glob in globs)]


def samples(op: Any) -> Iterator[Sample]:
    """The samples of an operator that PyTorch has."""
    for dtype in DTYPES:
        if dtype not in op.dtypes or (op.name in PLACES and not dtype.is_floating_point):
            continue
        torch.manual_seed(0)
        np.random.seed(0)
        gradient = op.supports_autograd and dtype.is_floating_point
        for number, call in enumerate(op.sample_inputs("cpu", dtype, requires_grad=gradient)):
            if not call.kwargs.get("dropout_p"):
                yield Sample(op, dtype, number, call)


class Module(nn.Module):
    """One call, its tensors as parameters and inputs."""

    def __init__(self, sample: Sample, function: Callable[..., Any] | None = None):
        super().__init__()
        call = sample.call
        leaves, self.spec = pytree.tree_flatten(((call.input, *call.args), call.kwargs))
        self.function = function or sample.op.op
        self.leaves: list[Any] = []
        self.inputs: list[torch.Tensor] = []
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                self.leaves.append(leaf)
            elif leaf.requires_grad:
                name = f"p{len(self.leaves)}"
                self.register_parameter(name, nn.Parameter(leaf.detach().clone()))
                self.leaves.append(_Slot(name))
            else:
                self.leaves.append(_Slot(len(self.inputs)))
                self.inputs.append(leaf)

    def forward(self, *inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        """The results by name, and a weighted sum of those that are floats."""
        leaves = [self._value(leaf, inputs) if isinstance(leaf, _Slot) else leaf for leaf in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        results = [one for one in pytree.tree_leaves(self.function(*args, **kwargs)) if isinstance(one, torch.Tensor)]
        found = {f"r{number}": one for number, one in enumerate(results)}
        sums = [
            (one * torch.cos(torch.arange(one.numel(), dtype=torch.float64)).reshape(one.shape)).sum()
            for one in results
            if one.is_floating_point() and one.requires_grad and one.numel()
        ]
        if sums:
            found["total"] = torch.stack(sums).sum() if len(sums) > 1 else sums[0]
        return found

    def _value(self, slot: _Slot, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
        return getattr(self, slot.place) if isinstance(slot.place, str) else inputs[slot.place]


@dataclass(frozen=True)
class _Slot:
    """A tensor among the leaves of a call: the name of a parameter or the number of an input."""

    place: str | int


def judged(sample: Sample, told: Callable[..., Any] | None = None) -> Verdict:
    """What npuc makes of a sample, by PyTorch's own results, or by those of another function that is `told`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = Module(sample)
            expected = (module if told is None else Module(sample, told))(*[one.clone() for one in module.inputs])
            program = torch.export.export(module, tuple(module.inputs), strict=False)
            file = io.BytesIO()
            torch.export.save(program, file)
        except Exception as error:  # whatever PyTorch does not export is none of ours
            return Verdict("not exported", f"{type(error).__name__}: {str(error)[:100]}")
    names = program.graph_signature.user_inputs
    values = {str(name): one.detach().numpy() for name, one in zip(names, module.inputs, strict=True)}
    values |= {name: one.detach().numpy() for name, one in module.named_parameters()}
    try:
        return _compared(module, file.getvalue(), values, expected, COARSE.get(sample.op.name, 0.0))
    except NpucError as error:
        return Verdict("refused", str(error).splitlines()[0])


def _compared(
    module: Module, data: bytes, values: dict[str, Any], expected: dict[str, torch.Tensor], tolerance: float
) -> Verdict:
    taken = describe_source(data, "pt2", inference=True)
    given = {name: value for name, value in values.items() if name in taken["inputs"] or name in taken["params"]}
    run = run_source(data, "pt2", inputs=given, inference=True)
    for name, result in expected.items():
        if name not in run.outputs:
            return Verdict("refused", f"{name} is left out")
        if why := _difference(run.outputs[name], result, tolerance):
            return Verdict("wrong", f"{name}: {why}")
    if "total" not in expected:
        return Verdict("equal")
    expected["total"].backward()
    step: dict[str, Any] = {"loss": "output:total", "result": "total"}
    taken = describe_source(data, "pt2", **step)
    given = {name: value for name, value in values.items() if name in taken["inputs"] or name in taken["params"]}
    gradients = run_source(data, "pt2", inputs=given, **step).gradients if taken["params"] else {}
    for name, one in module.named_parameters():
        if name in gradients:
            wanted = torch.zeros_like(one) if one.grad is None else one.grad
            if why := _difference(gradients[name], wanted, tolerance):
                return Verdict("wrong", f"gradient of {name}: {why}")
        elif one.grad is not None and torch.any(one.grad):
            return Verdict("wrong", f"gradient of {name} is missing")
    return Verdict("equal")


def _difference(ours: Any, theirs: torch.Tensor, tolerance: float) -> str:
    """What differs of two arrays; nothing where they are equal to the tolerance."""
    tolerance = max(tolerance, TOLERANCES.get(theirs.dtype, 0.0))
    exact = theirs.detach().resolve_conj().resolve_neg()
    one, other = np.asarray(ours), (exact.float() if theirs.dtype == torch.bfloat16 else exact).numpy(force=True)
    if one.shape != other.shape:
        return f"shape {list(one.shape)}, expected {list(other.shape)}"
    if one.dtype.kind != other.dtype.kind:
        return f"{one.dtype}, expected {other.dtype}"
    if not other.size or other.dtype.kind != "f":
        return "" if np.array_equal(one, other) else f"{_shown(one)}, expected {_shown(other)}"
    known = np.isfinite(other)
    scale = max(1.0, float(np.abs(other[known]).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= tolerance * scale
        same = np.where(known, near, (one == other) | np.isnan(one) & np.isnan(other))
    return "" if same.all() else f"{_shown(one[~same])}, expected {_shown(other[~same])}"


def _shown(array: Any) -> str:
    return str(np.ravel(array)[:4].tolist())


def main(globs: Sequence[str]) -> None:
    """Print what becomes of each operator's samples."""
    total: Counter[str] = Counter()
    for op in operators(*globs):
        counts: Counter[str] = Counter()
        reasons: dict[str, Sample] = {}
        unknown: set[torch.dtype] = set()
        for sample in samples(op):
            if sample.dtype in unknown:
                counts["not tried"] += 1
                continue
            try:
                verdict = judged(sample)
            except Exception as error:  # a defect, told with the others
                verdict = Verdict("defect", f"{type(error).__name__}: {error}"[:300])
            counts[verdict.kind] += 1
            if "unsupported operator" in verdict.why:
                unknown.add(sample.dtype)
            reasons.setdefault(f"{verdict.kind}: {verdict.why}", sample)
        total += counts
        print(op.formatted_name, dict(counts), flush=True)
        for reason, sample in reasons.items():
            if reason != "equal: ":
                print(f"    {sample}: {reason}", flush=True)
    print(dict(total))


if __name__ == "__main__":
    main(sys.argv[1:])
