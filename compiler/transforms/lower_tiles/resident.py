"""
Resident values at the level of tiles.

An input resident before the contraction is the block of its whole tensor (`npu.as_block`); one that is resident only
afterwards is loaded whole before all loops. A result that is left resident accumulates in a block of the whole tensor,
which becomes its tensor (`npu.as_tensor`) unless it is stored as well; initial values that no statement adds to are
read into it at the end (`npu.fill`).
"""

from collections.abc import Mapping

from xdsl.ir import SSAValue

from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.transforms.lower_tiles.writer import TileWriter, whole_place
from npuc.dialects import npu
from npuc.dialects.npu.nest import Tensor
from npuc.dialects.npu.resident import unmoved_tensors


def needs_fill(op: npu.ContractOp, out: Tensor, start: Tensor | None) -> bool:
    """Whether a result that is never in DRAM has initial values that no statement adds to, and so no loop loads."""
    return start is not None and out.name in unmoved_tensors(op) and touched(out, op.nest.sizes) < out.elements


def resident_inputs(writer: TileWriter, values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
    """The blocks of resident inputs, by name: those in SPM already, and loads of the others."""
    found: dict[str, SSAValue] = {}
    for tensor in writer.nest.ins:
        value = values[tensor.name]
        if tensor.name in writer.op.resident.ins:
            found[tensor.name] = writer.emit(npu.AsBlockOp(value), tensor.name).result
        elif tensor.name in writer.op.resident.outs:
            load = npu.LoadOp(value, *whole_place(tensor.shape))
            found[tensor.name] = writer.emit(load, tensor.name).block
    return {name: writer.named(block, f"{name}_b") for name, block in found.items()}
