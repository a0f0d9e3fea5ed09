"""
The pass `assign-units`: on which units of a machine of several kinds each matrix product runs.

    %y = npu.contract (m = 64, n = 512, k = 784) … -> tensor<64x512xf32>
      -> assign-units
    %y = npu.contract (m = 64, n = 512, k = 784) … {units = #npu.units<n [eie : 352, matraptor : 160]>} …

A convolution is the product of its unfolded input. Densities and formats are those of `!npu.sparse` operands, so that
the pass comes after `lower-to-npu` and `sparsify`; it is the last one, as other passes know one array. With
`mode=split` each product is shared by the units along the best of M, N, K and batch, in whole tiles; with `mode=assign`
whole products go to units, the longest first, those of one stage side by side; `mode=best` takes of each stage the best
of both, and of mixtures. Products of a stage depend on none of each other (`npuc.compiler.analysis.hetero.stages`).

The units are those of the machine, which the driver writes (`npu.units`), or those that the option names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.hetero.contractions import product_of
from npuc.compiler.analysis.hetero.described import machine_with, stamp_units, units_in_text, units_of
from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.compiler.analysis.hetero.staged import MODES, Mode, stage_plan
from npuc.compiler.analysis.hetero.stages import stages_of
from npuc.compiler.analysis.hetero.tiles import GOALS, TILES, Goal, TileSplit, best_split
from npuc.compiler.analysis.hetero.unit import UnitMachine, takers
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.stages import remark
from npuc.compiler.core.verify import location_of
from npuc.compiler.transforms.schedule.pins import usage_error
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions, remark_unused
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.units import Assignment, UnitPart, UnitsAttr
from npuc.dialects.provenance import layer_of, repeat_of
from npuc.dialects.train.signature import training_functions


@dataclass(frozen=True)
class AssignUnitsPass(ModulePass):
    """
    Share matrix products over the units of a machine: `mode` split, assign or best, `objective` time, energy or edp.

    It comes after lower-to-npu and sparsify, and last. Products that have units keep them.
    """

    name = "assign-units"
    EXAMPLE: ClassVar = 'autodiff,lower-to-npu,assign-units{mode=assign units="a dense 64 32; b row-wise 64 32"}'

    mode: str = "split"
    """Each product over all units (split), whole products side by side (assign), or the best of both (best)."""
    objective: str = "time"
    """What is least of a product, or a stage: time, energy or edp."""
    tiles: int = TILES
    """The most tiles into which an axis is cut."""
    units: str | None = None
    """Units in place of the machine's, `NAME KIND ELEMENTS KIB` each, separated by semicolons."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is '{self.mode}', expected {', '.join(MODES)}")
        if self.objective not in GOALS:
            raise ValueError(f"objective is '{self.objective}', expected {', '.join(GOALS)}")
        if not 1 <= self.tiles <= 1 << 10:
            raise ValueError(f"tiles is {self.tiles}, expected 1 to {1 << 10:,}")
        if self.units is not None:
            units_in_text(self.units)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not remark_no_contractions(self, op, self.only):
            return
        machine = self._machine(op)
        wanted = {func: list(self._wanted(func)) for func in training_functions(op)}
        for contract in (contract for own in wanted.values() for contract in own):
            _require_taker(contract, machine)
        for func, own in wanted.items():
            self._assign(func, own, machine)
        self._remark(op, sum(map(len, wanted.values())))

    def _machine(self, module: ModuleOp) -> UnitMachine:
        """The machine of the module, or with the units that are named. Raises `UsageError` where there is none."""
        if self.units is not None:
            stamp_units(module, machine_with(module, units_in_text(self.units)))
        machine = units_of(module)
        if machine is None:
            raise UsageError(
                f"{self.name}: the module does not say the units of its machine (npu.units)",
                location=location_of(module),
                hint='--hw aespa, or the option units="array dense 256 128; rows row-wise 256 128"',
            )
        if self.objective != "time" and not machine.priced:
            raise UsageError(
                f"{self.name}: objective={self.objective} needs the energies of units and DRAM, which {machine.name} "
                "does not say",
                hint="energy.mac_pj, energy.spm_pj_per_byte and energy.dram_pj_per_byte",
            )
        return machine

    def _wanted(self, func: FuncOp) -> Iterator[ContractOp]:
        """The products that run by themselves and have nothing that says how."""
        for op in func.walk():
            if isinstance(op, ContractOp) and (self.only is None or fnmatchcase(layer_of(op), self.only)):
                said = (op.schedule_attr, op.mapping_attr, op.resident_attr, op.units_attr)
                free = all(one is None for one in said) and op.parent_op() is func
                if free and len(op.nest.statements) == 1:
                    yield op

    def _assign(self, func: FuncOp, wanted: Sequence[ContractOp], machine: UnitMachine) -> None:
        """Write the units of a function's products."""
        goal, mode = cast("Goal", self.objective), cast("Mode", self.mode)
        groups: dict[int, list[ContractOp]] = {}
        if mode != "split":
            stages = stages_of(func)
            for op in wanted:
                # what runs several times runs so by itself
                groups.setdefault(stages[op] if repeat_of(op) == 1 else -1, []).append(op)
        alone = wanted if mode == "split" else [*groups.pop(-1, [])]
        for op in alone:
            product = product_of(op)
            if mode == "assign":
                (split,) = stage_plan(machine, [product], mode, goal, self.tiles).splits
            else:
                split = best_split(machine, product, tiles=self.tiles, goal=goal)
            _write(op, split, None)
        for stage, ops in sorted(groups.items()):
            products = [product_of(op) for op in ops]
            plan = stage_plan(machine, products, mode, goal, self.tiles)
            for op, split in zip(ops, plan.splits, strict=True):
                _write(op, split, stage if len(ops) > 1 else None)

    def _remark(self, module: ModuleOp, done: int) -> None:
        """Say which contractions stay as they are, and what has no effect."""
        left = 0
        for op in module.walk():
            if isinstance(op, ContractOp) and (self.only is None or fnmatchcase(layer_of(op), self.only)):
                left += op.units_attr is None
        if left:
            remark(
                f"{self.name}: {left:,} contractions stay as they are: they have schedules, mappings or several "
                "statements"
            )
        if not done:
            remark_idle(self, "no product is left that runs by itself and has no units yet")
        elif self.mode == "assign":
            remark_unused(self, ("tiles",), "mode=assign gives whole products to units")


def _require_taker(op: ContractOp, machine: UnitMachine) -> None:
    """Raise `UsageError`, at its place, for a product whose operands lie in formats that no unit takes."""
    try:
        takers(machine.units, named_product(op))
    except UsageError as error:
        raise usage_error(op, error.message, error.hint) from None


def named_product(op: ContractOp) -> SparseProduct:
    """The product of a contraction by the name of its layer, for messages."""
    from dataclasses import replace

    return replace(product_of(op), name=layer_of(op) or "product")


def _write(op: ContractOp, split: TileSplit, stage: int | None) -> None:
    parts = tuple(UnitPart(share.unit.name, share.size) for share in split.shares)
    op.units_attr = UnitsAttr(Assignment(split.axis, parts, stage))
