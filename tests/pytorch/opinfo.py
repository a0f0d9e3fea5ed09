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
from tests.pytorch.opinfo_parts import Parts

TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-1}
"""The largest difference, relative to the largest element, by the type that PyTorch computes in."""
COARSE = {"nn.functional.hardsigmoid": 1e-7}
"""Operators of whose constants PyTorch keeps fewer digits: 1 / 6 in single precision."""
PLACES = frozenset("argsort sort topk msort max min median nanmedian kthvalue mode".split())
"""Operators whose places are any of those of equal elements: samples of integers have such."""
TOGETHER = 16
"""How many samples are exported at once at most."""
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
    """What became of a sample: equal, refused, wrong, a defect, random, or not exported by PyTorch; and why."""

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
    """Calls, their tensors as parameters and inputs."""

    def __init__(self, samples: Sequence[Sample], function: Callable[..., Any] | None = None):
        super().__init__()
        self.inputs: list[torch.Tensor] = []
        self.owners: list[int] = []
        self.calls = [(function or one.op.op, *self._placed(number, one)) for number, one in enumerate(samples)]
        self.weights: dict[str, torch.Tensor] = {}

    def _placed(self, number: int, sample: Sample) -> tuple[list[Any], Any]:
        """The arguments of a call with the places of its tensors in their stead, and how they are nested."""
        call = sample.call
        leaves, spec = pytree.tree_flatten(((call.input, *call.args), call.kwargs))
        placed: list[Any] = []
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                placed.append(leaf)
            elif leaf.requires_grad:
                name = f"p{number}_{len(placed)}"
                self.register_parameter(name, nn.Parameter(leaf.detach().clone()))
                placed.append(_Slot(name))
            else:
                placed.append(_Slot(len(self.inputs)))
                self.inputs.append(leaf)
                self.owners.append(number)
        return placed, spec

    def forward(self, *inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        """The results of each call by name, and a weighted sum of those that are floats."""
        found: dict[str, torch.Tensor] = {}
        for number, (function, placed, spec) in enumerate(self.calls):
            leaves = [self._value(leaf, inputs) if isinstance(leaf, _Slot) else leaf for leaf in placed]
            args, kwargs = pytree.tree_unflatten(leaves, spec)
            results = [one for one in pytree.tree_leaves(function(*args, **kwargs)) if isinstance(one, torch.Tensor)]
            named = {f"r{number}_{place}": one for place, one in enumerate(results)}
            sums = [
                (one * self._weight(name, one)).sum()
                for name, one in named.items()
                if one.is_floating_point() and one.requires_grad and one.numel()
            ]
            found |= named
            if sums:
                found[f"total{number}"] = torch.stack(sums).sum() if len(sums) > 1 else sums[0]
        return found

    def _weight(self, name: str, result: torch.Tensor) -> torch.Tensor:
        """What the elements of a result count in the sum; a constant when exported, as it is known by then."""
        if name not in self.weights:
            places = torch.arange(result.numel(), dtype=torch.float64)
            self.weights[name] = torch.cos(places).reshape(result.shape)
        return self.weights[name]

    def _value(self, slot: _Slot, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
        return getattr(self, slot.place) if isinstance(slot.place, str) else inputs[slot.place]


@dataclass(frozen=True)
class _Slot:
    """A tensor among the leaves of a call: the name of a parameter or the number of an input."""

    place: str | int


def judged(sample: Sample, told: Callable[..., Any] | None = None) -> Verdict:
    """What npuc makes of a sample, by PyTorch's own results, or by those of another function that is `told`."""
    (verdict,) = _together([sample], told)
    return verdict


def verdicts(op: Any) -> Iterator[tuple[Sample, Verdict]]:
    """What becomes of each sample of an operator. Many are exported at once: that takes most of the time."""
    for alike in alike_samples(op):
        for start in range(0, len(alike), TOGETHER):
            some = alike[start : start + TOGETHER]
            yield from zip(some, _together(some), strict=True)


def alike_samples(op: Any) -> list[list[Sample]]:
    """The samples of an operator, those together whose arguments differ in numbers and sizes alone."""
    found: dict[str, list[Sample]] = {}
    for sample in samples(op):
        leaves, spec = pytree.tree_flatten(((sample.call.input, *sample.call.args), sample.call.kwargs))
        kinds = [_kind(leaf) for leaf in leaves]
        found.setdefault(f"{sample.dtype} {spec} {kinds}", []).append(sample)
    return list(found.values())


def _kind(leaf: object) -> object:
    """What two arguments that are alike have in common."""
    if isinstance(leaf, torch.Tensor):
        return leaf.dtype, leaf.numel() > 0
    return type(leaf) if isinstance(leaf, int | float) and not isinstance(leaf, bool) else leaf


def _together(samples: Sequence[Sample], told: Callable[..., Any] | None = None) -> list[Verdict]:
    """The verdicts of samples that are exported at once; fewer at once where PyTorch does not export them so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = Module(samples)
            teller = module if told is None else Module(samples, told)
            expected = teller(*[one.clone() for one in module.inputs])
            module.weights = teller.weights
            program = torch.export.export(module, tuple(module.inputs), strict=False)
            random = _random(program, module)
            file = io.BytesIO()
            torch.export.save(program, file)
        except Exception as error:  # whatever PyTorch does not export is none of ours
            if len(samples) > 1:
                half = len(samples) // 2
                return _together(samples[:half], told) + _together(samples[half:], told)
            return [Verdict("not exported", f"{type(error).__name__}: {str(error)[:100]}")]
    names = [str(name) for name in program.graph_signature.user_inputs]
    owners = dict(zip(names, module.owners, strict=True))
    owners |= {name: _number(name) for name in (*expected, *dict(module.named_parameters()))}
    values = {name: one.detach().numpy() for name, one in zip(names, module.inputs, strict=True)}
    values |= {name: one.detach().numpy() for name, one in module.named_parameters()}
    tolerance = max(COARSE.get(one.op.name, 0.0) for one in samples)
    if len(samples) > 1 and not random:
        whole = _judged(file.getvalue(), values, expected, dict(module.named_parameters()), tolerance)
        if whole.kind == "equal":
            return [whole] * len(samples)
    parts, found = Parts(file.getvalue(), owners), list[Verdict]()
    for number in range(len(samples)):
        wanted = {name: one for name, one in expected.items() if owners[name] == number}
        given = {name: one for name, one in values.items() if owners[name] == number}
        parameters = {name: one for name, one in module.named_parameters() if owners[name] == number}
        if number in random:
            found.append(Verdict("random"))
        elif not wanted:
            found.append(Verdict("not exported", "it has no tensor as a result"))
        else:
            found.append(_judged(parts.of(number), given, wanted, parameters, tolerance))
    return found


def _number(name: str) -> int:
    """The number of the call of a parameter, a result or a sum."""
    return int(name.partition("_")[0].lstrip("prtoal"))


def _random(program: torch.export.ExportedProgram, module: Module) -> set[int]:
    """The calls whose results differ from run to run: OpInfo's functions set the seed, a program does not."""
    tags = [getattr(node.target, "tags", ()) for node in program.graph.nodes]
    if not any(torch.Tag.nondeterministic_seeded in each for each in tags):
        return set()
    exported: Any = program.module()
    one, other = [exported(*[each.clone() for each in module.inputs]) for _ in range(2)]
    return {_number(name) for name, result in one.items() if _difference(other[name].numpy(force=True), result, 0.0)}


def _judged(
    data: bytes,
    values: dict[str, Any],
    expected: dict[str, torch.Tensor],
    parameters: dict[str, nn.Parameter],
    tolerance: float,
) -> Verdict:
    """What npuc makes of a file of one call."""
    try:
        return _compared(data, values, expected, parameters, tolerance)
    except NpucError as error:
        kind = "defect" if "contradict the types" in str(error) else "refused"  # a meaning that fails is no refusal
        return Verdict(kind, str(error).splitlines()[0])
    except Exception as error:  # a defect, told with the others
        return Verdict("defect", f"{type(error).__name__}: {error}"[:300])


def _compared(
    data: bytes,
    values: dict[str, Any],
    expected: dict[str, torch.Tensor],
    parameters: dict[str, nn.Parameter],
    tolerance: float,
) -> Verdict:
    taken = describe_source(data, "pt2", inference=True)
    given = {name: value for name, value in values.items() if name in taken["inputs"] or name in taken["params"]}
    run = run_source(data, "pt2", inputs=given, inference=True)
    for name, result in expected.items():
        if name not in run.outputs:
            return Verdict("refused", f"{name} is left out")
        if why := _difference(run.outputs[name], result, tolerance):
            return Verdict("wrong", f"{name}: {why}")
    totals = [name for name in expected if name.startswith("total")]
    if not totals:
        return Verdict("equal")
    torch.autograd.backward([expected[name] for name in totals], retain_graph=True)
    step: dict[str, Any] = {"loss": [f"output:{name}" for name in totals], "result": totals}
    taken = describe_source(data, "pt2", **step)
    given = {name: value for name, value in values.items() if name in taken["inputs"] or name in taken["params"]}
    gradients = run_source(data, "pt2", inputs=given, **step).gradients if taken["params"] else {}
    for name, one in parameters.items():
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
        for sample, verdict in verdicts(op):
            counts[verdict.kind] += 1
            reasons.setdefault(f"{verdict.kind}: {verdict.why}", sample)
        total += counts
        print(op.formatted_name, dict(counts), flush=True)
        for reason, sample in reasons.items():
            if reason != "equal: ":
                print(f"    {sample}: {reason}", flush=True)
    print(dict(total))


if __name__ == "__main__":
    main(sys.argv[1:])
