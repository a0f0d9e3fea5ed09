"""The backend `cycle`: one row an operation that has work, in program order."""

from collections.abc import Callable, Hashable, Mapping, Sequence

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from npuc.backends.base import Answer, Backend, MachineView, Question
from npuc.backends.cycle.certificates import layer_certificates
from npuc.backends.cycle.compat import compat_machine, compat_row, compat_warnings, is_compat
from npuc.backends.cycle.contract import contract_row
from npuc.backends.cycle.costed import STREAMED, costed_operations, depends_on_others
from npuc.backends.cycle.followed import followed_warnings, refuse_mapped, unfollowed
from npuc.backends.cycle.fused import fused_groups, fused_rows
from npuc.backends.cycle.interleave import interleave_row
from npuc.backends.cycle.interleaving import interleaving_facts
from npuc.backends.cycle.keys import KEYS
from npuc.backends.cycle.knobs import KNOBS, time_parts
from npuc.backends.cycle.limits import least_seconds
from npuc.backends.cycle.outer.refusals import check_alone, refuse_explain
from npuc.backends.cycle.pool import forecast_walks, pool_shares, pool_warnings
from npuc.backends.cycle.refreshed import RETENTION, refresh_warnings, with_refreshes
from npuc.backends.cycle.resident_values import residency_of, with_residency
from npuc.backends.cycle.stream import stream_row
from npuc.backends.mapping_rules import rule_warnings
from npuc.backends.operations import place_of, shared_over_units, sparsity_warnings
from npuc.backends.sparse import on_array, skip_warnings
from npuc.compiler.analysis.machine.facts import Machine, machine_from
from npuc.compiler.analysis.machine.reused_tiles import contractions_reusing_tiles
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.stages import each
from npuc.compiler.report import OpRow, Report, make_report
from npuc.compiler.report.causes import Parts
from npuc.compiler.report.sections import RecomputeFacts
from npuc.dialects.npu import ConstantOp, ContractOp, GroupOp, InterleaveOp, ViewOp, YieldOp
from npuc.dialects.provenance import SPARSITY, is_recomputed
from npuc.dialects.structural import equality_key, structural_key
from npuc.hardware import Hardware, machine_target

ENERGIES = ("energy.mac_pj", "energy.spm_pj_per_byte", "energy.dram_pj_per_byte")
EDGE = "array.edge_elements"
DENSE = "this model's arrays compute dense products (--set cycle.compat=scalesim3 models sparse ones)"
FREE = (ViewOp, ConstantOp, FuncOp, ReturnOp, ModuleOp)
"""Operations without work: no row."""


class CycleBackend(Backend):
    """Cycles of systolic arrays with double-buffered SPMs and vector units, and of a DRAM channel that they share."""

    name = "cycle"
    level = "npu"
    keys = KEYS
    knobs = KNOBS
    views = ("time", "array")
    has_groups = True
    default_hardware = "igo-large"

    def time_parts(self, row: OpRow) -> Parts:
        """The seconds of a row by cause."""
        return time_parts(row)

    def supports(self, op: Operation) -> str | None:
        """None for operations of the npu level, with mappings that arrays follow; tiles have no cost."""
        if (shared := shared_over_units(op)) is not None:
            return shared
        if isinstance(op, ContractOp) and op.mapping_attr is not None:
            return unfollowed(op)
        if isinstance(op, (ContractOp, InterleaveOp, GroupOp, YieldOp, *STREAMED, *FREE)):
            return None
        return "it is not an operation of the npu level (contractions, vector work, moves, views, constants)"

    def score(self, module: ModuleOp, hardware: Hardware) -> Report:
        """
        The report of a scheduled module.

        Raises `UsageError` for hardware that the model does not cover and for a contraction without a schedule,
        `CapacityError` for a schedule that does not fit the SPM.
        """
        return self._report(module, hardware, beside=True)

    def costs(self, module: ModuleOp, hardware: Hardware) -> Report:
        """The report without what contractions that run together cost one after another, which takes searches."""
        return self._report(module, hardware, beside=False)

    def _report(self, module: ModuleOp, hardware: Hardware, *, beside: bool) -> Report:
        """The report of a scheduled module; `beside` costs those of programs that it is compared with."""
        ops = costed_operations(module)
        if is_compat(hardware):
            refuse_mapped(ops, "cycle.compat = 'scalesim3'")
            compat = compat_machine(hardware)
            rows = _rows(ops, _compat_kind, lambda op, index: compat_row(op, compat, index))
            warnings = [*refresh_warnings(hardware), *edge_warnings(hardware), *compat_warnings(hardware, ops)]
            return make_report(self.name, hardware.as_dict(), rows, warnings=warnings)
        machine = cycle_machine(hardware)
        grouped = any(isinstance(op.parent_op(), GroupOp) for op in ops)
        if hardware.written(RETENTION) and grouped:
            raise UsageError(
                f"{RETENTION}: it is not known how long values of groups are held", hint="leave out fuse-layers"
            )
        rows = (_grouped_rows if grouped else _cycle_rows)(ops, machine, beside=beside)
        rows = with_refreshes(ops, rows, machine, hardware)
        certificates, warnings = layer_certificates(ops, rows, machine), _warnings(ops, rows, machine, hardware)
        return make_report(self.name, hardware.as_dict(), rows, warnings=warnings, certificates=certificates)

    def adds_up(self, hardware: Hardware) -> bool:
        """
        Where nothing stays on the chip from one operation to the next, values may stay there for ever, and no memory
        between SPM and DRAM decides how products run.
        """
        if is_compat(hardware) or hardware.written(RETENTION):
            return False
        return self.costs_alone(hardware) and not cycle_machine(hardware).levels

    def costed(self, module: ModuleOp) -> Sequence[Operation] | None:
        """Those that have a row, none of which depends on others."""
        ops = costed_operations(module)
        return None if any(depends_on_others(op) for op in ops) else ops

    def costs_of_classes(self, ops: Sequence[Operation], counts: Sequence[int], hardware: Hardware) -> Report:
        """The report of operations with their numbers, without certificates of layers."""
        machine = cycle_machine(hardware)
        rows = with_refreshes(ops, _cycle_rows(ops, machine, beside=False), machine, hardware)
        warnings = _warnings(ops, rows, machine, hardware)
        every = [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
        return make_report(self.name, hardware.as_dict(), every, warnings=warnings)

    def forecast(self, module: ModuleOp, hardware: Hardware) -> str | None:
        """Walks over a pool of tiles may take long."""
        if is_compat(hardware):
            return None
        return forecast_walks(costed_operations(module), cycle_machine(hardware))

    def without_effect(self, hardware: Hardware) -> Mapping[str, str]:
        """Energies that are not all there, since only all of them together give an energy."""
        missing = [key for key in ENERGIES if hardware.known(key) is None]
        return dict.fromkeys(ENERGIES, f"energies need {' and '.join(missing)} too") if missing else {}

    def explain(self, question: Question) -> Answer:
        """The operations of a layer over time, and the programs of its backward pass."""
        from npuc.backends.cycle.explain.answer import answer

        refuse_explain(question.hardware)
        return answer(question)

    def check(self, hardware: Hardware) -> None:
        """Raise `UsageError` for hardware that the model does not cover."""
        if not is_compat(hardware):
            cycle_machine(hardware)

    def machine_view(self, hardware: Hardware) -> MachineView | None:
        """The arrays of all cores, their channel and scratchpads; SCALE-Sim's mode has no bandwidth of its own."""
        if is_compat(hardware):
            return None
        machine = cycle_machine(hardware)
        per_mac, hertz = hardware.require("compute.ops_per_mac", int, backend=self.name), machine.clock_mhz * 1e6
        return MachineView(
            operations=per_mac * machine.elements * hertz,
            ops_per_mac=per_mac,
            bytes_per_second=float(machine.channel) * hertz,
            memory_bytes=machine.spm_bytes * machine.cores,
            memory="SPM for schedules" + (", half of it" if machine.double_buffer else ""),
            macs_per_cycle=machine.elements,
            bytes_per_cycle=float(machine.channel),
        )

    def costs_alone(self, hardware: Hardware) -> bool:
        """Not where tiles stay in the array or in a pool from one operation to the next."""
        if is_compat(hardware):
            return True
        machine = cycle_machine(hardware)
        return machine.array.dataflow != "in-place" and not machine.array.skips_reloads and machine.policy != "lru"

    def least_seconds(
        self, module: ModuleOp, hardware: Hardware, *, together: bool = False
    ) -> Mapping[str, Sequence[float]] | None:
        """Those that rows of contractions have, and the seconds of all other rows."""
        if is_compat(hardware):
            return None
        return least_seconds(costed_operations(module), cycle_machine(hardware), together=together)

    def needs_schedules(self, hardware: Hardware) -> bool:
        """SCALE-Sim has no schedules."""
        return not is_compat(hardware)


def edge_warnings(hardware: Hardware) -> list[str]:
    """Says that a key has no effect where folds do not overlap, or instructions do by stages of their own."""
    if not hardware.written(EDGE):
        return []
    if is_compat(hardware):
        return [f"{EDGE} has no effect: SCALE-Sim has no such limit (cycle.compat = 'scalesim3')"]
    if hardware.written("array.overlap"):
        return [f"{EDGE} has no effect: the stages of array.overlap say when weights come in"]
    if hardware.get("array.dataflow") == "rs":
        return [f"{EDGE} has no effect: a row-stationary array has array.ifmap_port, filter_port and psum_port"]
    if hardware.get("array.fill") == "per-fold":
        return [f"{EDGE} has no effect: with array.fill = 'per-fold' nothing crosses the edge beside a fold"]
    return []


def _warnings(ops: Sequence[Operation], rows: Sequence[OpRow], machine: Machine, hardware: Hardware) -> list[str]:
    """What is to be said of operations on a machine, and of its keys."""
    found = [*refresh_warnings(hardware), *edge_warnings(hardware), *pool_warnings(ops, machine)]
    found += sparsity_warnings(ops, DENSE)
    found += skip_warnings(ops, hardware, on_array(machine.array), only_gates=machine.array.dataflow == "rs")
    found += followed_warnings(ops, rows, machine)
    return found + rule_warnings(ops, hardware, machine.array.elements)


def _rows(
    ops: Sequence[Operation], kind_of: Callable[[Operation], Hashable], cost_row: Callable[[Operation, int], OpRow]
) -> list[OpRow]:
    """The rows of operations. Of those with one key only the first is costed; None is no key."""
    rows: list[OpRow] = []
    known: dict[Hashable, OpRow] = {}
    for op in each("scoring", "operations", ops):
        kind = kind_of(op)
        row = None if kind is None else known.get(kind)
        if row is None:
            row = cost_row(op, len(rows))
            if kind is not None:
                known[kind] = row
        else:
            row = replace(row, index=len(rows), **place_of(op))
        rows.append(row)
    return [_marked(row) if is_recomputed(op) else row for op, row in zip(ops, rows, strict=True)]


def _marked(row: OpRow) -> OpRow:
    """The row of forward work that runs a second time."""
    return replace(row, native=row.native | RecomputeFacts(recompute=True).columns())


def _cycle_rows(ops: Sequence[Operation], machine: Machine, *, beside: bool) -> list[OpRow]:
    """The rows of npuc's own model; `beside` costs those of programs that they are compared with."""
    groups = fused_groups(ops, machine)
    reusing, shares, residency = (
        contractions_reusing_tiles(ops, machine),
        pool_shares(ops, machine),
        residency_of(ops, machine),
    )
    waiting: list[OpRow] = []

    def kind_of(op: Operation) -> Hashable:
        kind = None if op in groups else equality_key(op)
        if kind is None or (op not in reusing and op not in shares and op not in residency):
            return kind
        return kind, op in reusing, shares.get(op), residency.get(op)

    def cost_row(op: Operation, index: int) -> OpRow:
        row = alone(op, index)
        interleaving = interleaving_facts(op, machine) if beside else None
        if interleaving is not None:
            row = replace(row, native=row.native | interleaving.columns())
        return with_residency(row, residency[op]) if op in residency else row

    def alone(op: Operation, index: int) -> OpRow:
        if waiting:
            return waiting.pop(0)
        if isinstance(op, ContractOp):
            if op in groups:
                first, *waiting[:] = fused_rows(op, groups[op], machine, index)
                return first
            return contract_row(op, machine, index, tile_loaded=op in reusing, share=shares.get(op))
        if isinstance(op, InterleaveOp):
            return interleave_row(op, machine, index)
        return stream_row(op, machine, index, residency[op].spm_bytes if op in residency else 0)

    return _rows(ops, kind_of, cost_row)


def _grouped_rows(ops: Sequence[Operation], machine: Machine, *, beside: bool) -> list[OpRow]:
    """The rows of a program that has groups, each with what it moves at least."""
    from npuc.backends.cycle.groups.bounds import with_bounds
    from npuc.backends.cycle.groups.rows import with_groups

    rows = with_groups(
        ops,
        machine,
        lambda own: _cycle_rows(own, machine, beside=beside),
        lambda own: _cycle_rows(own, machine, beside=False),
    )
    return with_bounds(ops, rows, machine)


def _compat_kind(op: Operation) -> Hashable:
    """A key that is equal for operations that SCALE-Sim does not tell apart: equivalent ones of equal sparsity."""
    kind = structural_key(op)
    return None if kind is None else (kind, op.attributes.get(SPARSITY))


def cycle_machine(hardware: Hardware) -> Machine:
    """The machine that a hardware description means to this backend. Raises `UsageError` for what it does not cover."""
    machine = machine_from(machine_target(hardware, backend="cycle"))
    if machine.policy == "lru" and machine.array.skips_reloads:
        raise UsageError(
            "memory.policy = 'lru' does not know arrays that keep a tile between operations "
            f"({'array.overlap' if machine.array.stages is not None else 'array.dataflow in-place'})",
            hint="--set memory.policy=explicit",
        )
    check_alone(machine)
    if machine.policy == "lru" and machine.cores > 1:
        raise UsageError("memory.policy = 'lru' knows one core (array.cores)", hint="--set array.cores=1")
    return machine


BACKEND = CycleBackend()
