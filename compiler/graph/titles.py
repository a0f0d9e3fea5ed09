"""The headings of a graph, and the partition types of a plan."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from npuc.compiler.graph.flow import Flows
from npuc.compiler.graph.names import Depth
from npuc.compiler.graph.words import bytes_text
from npuc.compiler.report import Report
from npuc.compiler.report.text.quantities import time_text
from npuc.compiler.report.text.sharding import type_text
from npuc.dialects.distributed.base import PLAN
from npuc.dialects.distributed.mesh import mesh_of


def heading(module: ModuleOp, report: Report | None, flows: Flows, depth: Depth) -> tuple[str, ...]:
    """The network, its size and its lanes; the machine and the totals; the devices; what is folded."""
    names = [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]
    name = (report.network if report is not None else "") or ", ".join(names) or "program"
    training = any(step.lane != "forward" for step in flows.steps)
    count = len(flows.steps)
    lines = [f"{name}: {'training step' if training else 'program'} of {count:,} operation{'s' * (count != 1)}"]
    if report is not None:
        lines.append(", ".join(_totals(report)))
    sizes = [size for op in module.ops if isinstance(op, FuncOp) for size in [mesh_of(op)] if size is not None]
    if sizes:
        lines.append(f"{sizes[0].devices:,} devices, levels H1 to H{len(sizes[0].sizes)} of {_parts(sizes[0].sizes)}")
    if isinstance(depth, int):
        lines.append(f"folded to names of {depth} part{'s' * (depth != 1)}; × n: n like blocks")
    return tuple(lines)


def _parts(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def _totals(report: Report) -> list[str]:
    machine = report.hardware.get("name")
    found = [f"{machine or 'a machine'}", f"backend {report.backend}"]
    totals = report.totals
    if totals.seconds is not None:
        found.append(time_text(totals.seconds))
    moved = [part for part in (totals.dram_read_bytes, totals.dram_write_bytes) if part is not None]
    if moved:
        found.append(f"{bytes_text(sum(moved))} of DRAM traffic")
    return found


def plan_types(module: ModuleOp, report: Report | None) -> Mapping[str, str]:
    """The partition types of each layer, outermost level first: by the report, else by what stands on the function."""
    if report is not None and report.parallel is not None:
        levels = report.parallel.levels
        layers = dict.fromkeys(layer for level in levels for layer in level.choices)
        return {
            layer: " | ".join(type_text(lv.choices.get(layer, "-"), (lv.cuts or {}).get(layer)) for lv in levels)
            for layer in layers
        }
    found: dict[str, str] = {}
    for op in module.ops:
        plan = op.attributes.get(PLAN)
        layers = plan.data.get("layers") if isinstance(plan, DictionaryAttr) else None
        if isinstance(layers, DictionaryAttr):
            found |= {name: types.data for name, types in layers.data.items() if isinstance(types, StringAttr)}
    return found
