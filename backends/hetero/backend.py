"""The backend `hetero`: a row for each product with the units that share it, and for other work."""

from __future__ import annotations

from collections.abc import Mapping as Table

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from npuc.backends.base import Backend, MachineView
from npuc.backends.hetero.scorer import NAME, OTHERS, is_resident, score_module, units_machine
from npuc.backends.hetero.words import KNOBS, WORDS
from npuc.compiler.report import Report
from npuc.dialects.npu import ConstantOp, ContractOp, GroupOp, InterleaveOp, ViewOp, YieldOp
from npuc.hardware import Hardware

OF_ONE_ARRAY = ("array.rows", "array.cols", "array.cores", "memory.spm_kib", "energy.edge_pj_per_byte")
FREE = (ViewOp, ConstantOp, YieldOp, InterleaveOp, FuncOp, ReturnOp, ModuleOp)
"""Operations without a row of their own."""


class HeteroBackend(Backend):
    """Units of several kinds that share sparse matrix products, under one bandwidth of DRAM; after AESPA."""

    name = NAME
    level = "npu"
    knobs = KNOBS
    words = WORDS
    default_hardware = "aespa"
    energy_parts = ("array", "spm", "vector", "dram")

    def supports(self, op: Operation) -> str | None:
        """None for operations of the npu level that run by themselves."""
        if isinstance(op, ContractOp) and op.mapping_attr is not None:
            return "it has a mapping, which this backend does not follow"
        if isinstance(op, GroupOp):
            return "its layers run block by block in one scratchpad, and units have a buffer each"
        if is_resident(op):
            return "it finds or leaves values in one scratchpad, and units have a buffer each"
        if isinstance(op, (ContractOp, *OTHERS, *FREE)):
            return None
        return "it is not an operation of the npu level (contractions, vector work, moves, views, constants)"

    def needs_schedules(self, hardware: Hardware) -> bool:
        """Units have orders of their own."""
        return False

    def check(self, hardware: Hardware) -> None:
        """Raise `UsageError` for a machine without units."""
        units_machine(hardware)

    def without_effect(self, hardware: Hardware) -> Table[str, str]:
        """Keys of one array and its scratchpad, which areas alone are derived from."""
        reason = "units have elements, buffers and energies of their own (units)"
        return dict.fromkeys(OF_ONE_ARRAY, reason)

    def machine_view(self, hardware: Hardware) -> MachineView:
        """All units together: their elements, their buffers and the bandwidth that they share."""
        machine = units_machine(hardware)
        elements = sum(unit.pes for unit in machine.units)
        per_mac = hardware.require("compute.ops_per_mac", int, backend=NAME)
        return MachineView(
            operations=per_mac * elements * machine.hertz,
            ops_per_mac=per_mac,
            bytes_per_second=machine.bytes_per_second,
            memory_bytes=sum(unit.buffer_bytes for unit in machine.units),
            memory="buffers of all units",
            macs_per_cycle=elements,
            bytes_per_cycle=machine.bytes_per_second / machine.hertz,
        )

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """
        The report of a module.

        Raises `UsageError` for a machine without units, and, at its place, for a product in formats that no unit takes
        or on units that the machine lacks; `SourceError` for stages with dependences.
        """
        return score_module(module, hardware)


BACKEND = HeteroBackend()
