"""
Plans for a chain of weighted layers known by their sizes alone: `plan_parallel` of the Python interface.

    plan_parallel([{"name": "fc1", "kind": "fc", "input": 2048, "weight": 4096, "output": 1024}], devices=16)

This module reads its arguments and reports errors in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from npuc.compiler.analysis.sharding.graph.chain import Layer, LayerKind
from npuc.compiler.analysis.sharding.search.planning import plan_chain, unique_names
from npuc.compiler.core.arguments import argument
from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.options import CONVENTIONS, STRATEGIES
from npuc.compiler.distributed.heterogeneous import plan_heterogeneous_chain
from npuc.compiler.distributed.plan import plan_report
from npuc.compiler.report import Parallel

KINDS: tuple[LayerKind, ...] = get_args(LayerKind)


def plan_parallel(
    layers: Sequence[Mapping[str, object]],
    devices: int,
    strategy: str = "hypar",
    convention: str = "table2",
    *,
    groups: Sequence[Mapping[str, object]] | None = None,
) -> Parallel:
    """
    The types of a chain of layers on `devices` accelerators, a power of two, and what a training step moves.

    A layer has `name`, `kind` (`conv` or `fc`) and the elements of its `input`, `weight` and `output`, whole batch.
    `strategy` is one of dp, mp, owt (fc layers mp), hypar (level by level), joint (the optimum), accpar and
    accpar-joint (the same with a third type). Bytes are of elements of 4 bytes, both directions.
    With `groups` of unlike devices, as many in each (`tflops` and `gb_per_s` of one device), layers need the `macs` of
    their forward product, too; accpar then takes shares that need not be equal, for the least time. Raises
    `UsageError`.
    """
    argument("layers", layers, Sequence[Mapping[str, object]])
    argument("groups", groups, Sequence[Mapping[str, object]] | None)
    devices = argument("devices", devices, int)
    argument("strategy", strategy, str)
    argument("convention", convention, str)
    chain = [_layer(number, layer) for number, layer in enumerate(layers)]
    if not chain:
        raise UsageError("expected at least one layer")
    if devices < 1 or devices & (devices - 1):
        raise UsageError(f"devices {devices}: expected a power of two", hint="halves of halves: 2, 4, 8, 16 …")
    if strategy not in STRATEGIES:
        raise UsageError(f"unknown strategy '{strategy}'", hint=did_you_mean(strategy, STRATEGIES))
    if convention not in CONVENTIONS:
        raise UsageError(f"unknown convention '{convention}'", hint=did_you_mean(convention, CONVENTIONS))
    if groups is not None:
        macs = [_count(number, "macs", layer) for number, layer in enumerate(layers)]
        return plan_heterogeneous_chain(chain, macs, devices, strategy, convention, groups)
    levels = devices.bit_length() - 1
    plan = plan_chain(chain, strategy, convention, levels)
    named = dict(zip(unique_names([layer.name for layer in chain]), plan.sequences, strict=True))
    return plan_report(named, plan.levels, plan.bound, strategy, convention)


def _layer(number: int, given: Mapping[str, object]) -> Layer:
    """A layer of the arguments. Raises `UsageError`."""
    keys = ("name", "kind", "input", "weight", "output")
    for key in keys:
        if key not in given:
            raise UsageError(f"layer {number}: missing '{key}'", hint=f"expected {', '.join(keys)}")
    kind = str(given["kind"])
    if kind not in KINDS:
        raise UsageError(f"layer {number}: unknown kind '{kind}'", hint=did_you_mean(kind, KINDS))
    return Layer(str(given["name"]), kind, *(_count(number, key, given) for key in keys[2:]))


def _count(number: int, key: str, given: Mapping[str, object]) -> int:
    """A number of elements, or of multiply-accumulates, of a layer. Raises `UsageError`."""
    what = "MACs of the forward product" if key == "macs" else "elements"
    if key not in given:
        raise UsageError(f"layer {number}: missing '{key}'", hint=f"with groups a layer needs its {what}")
    size = given[key]
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UsageError(f"layer {number}: {key}: expected {what}, an integer from 1, got {size!r}")
    return size
