"""Bounds of what groups cost on random networks: no group is below them, and a plan is the same with and without."""

from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.fusion.dynamic_program import best_plan
from npuc.compiler.analysis.machine.facts import TARGET, target_attr
from npuc.compiler.analysis.programs.reported_costs import ReportedCost
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.fuse_layers.chain import Chain, chain_of
from npuc.compiler.transforms.fuse_layers.design import Designs
from npuc.compiler.transforms.lower_to_npu import LowerToNpuPass
from npuc.compiler.transforms.schedule import SchedulePass
from npuc.compiler.transforms.schedule.searches import known_machine
from npuc.dialects.npu.groups.walk import HALOS
from npuc.frontends import read_source
from npuc.hardware import load_hardware, machine_target
from tests.networks import integer_networks

OBJECTIVES: tuple[Objective, ...] = ("time", "traffic", "energy", "edp")


def scheduled(module: ModuleOp, spm: float, objective: Objective, *, double_buffer: bool = True) -> None:
    """Lower a network to a scheduled training step for a small array."""
    sizes = {"array.rows": 4, "array.cols": 4, "memory.spm_kib": spm, "memory.double_buffer": double_buffer}
    module.attributes[TARGET] = target_attr(machine_target(load_hardware("igo-small", sizes)))
    for step in (AutodiffPass(), LowerToNpuPass(), SchedulePass(objective=objective)):
        step.apply(Context(), module)


def designs_of(module: ModuleOp, objective: Objective) -> tuple[Chain, Designs] | None:
    """The prices of the ranges of a scheduled program, if it has samples."""
    machine = known_machine(module, "the test")
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    chain = chain_of(func.body.block, machine)
    return None if chain is None else (chain, Designs(chain, machine, machine.spm_bytes, objective))


@dataclass(frozen=True)
class Unbounded:
    """Prices without their bounds."""

    designs: Designs

    def alone(self, step: int) -> ReportedCost:
        return self.designs.alone(step)

    def group(self, first: int, last: int, micro: int) -> ReportedCost | None:
        return self.designs.group(first, last, micro)

    def ends(self, first: int) -> Iterable[int]:
        return self.designs.ends(first)


@settings(max_examples=8)
@given(
    module=integer_networks(),
    spm=st.sampled_from((0.5, 1, 2, 8, 64)),
    objective=st.sampled_from(OBJECTIVES),
    double_buffer=st.booleans(),
)
def test_bounds_change_no_plan(module: ModuleOp, spm: float, objective: Objective, double_buffer: bool) -> None:
    scheduled(module, spm, objective, double_buffer=double_buffer)
    found, other = designs_of(module, objective), designs_of(module, objective)
    if found is None or other is None:
        return
    chain, designs = found
    fresh = Designs(chain, designs.whole, designs.machine.spm_bytes, objective)
    problem = chain.problem(designs.machine, objective)
    plain = other[1]
    assert best_plan(problem, designs) == best_plan(problem, Unbounded(plain))
    for first in range(len(chain.steps)):
        for last in plain.ends(first):
            for micro in chain.micro_batches:
                price = plain.group(first, last, micro)
                if price is None:
                    assert designs.group(first, last, micro) is None
                    continue
                least, score = plain.least(first, last, micro), price.score(objective)
                assert least.cycles <= price.cycles
                assert least.moved <= price.moved
                assert (least.joules or 0) <= (price.joules or 0)
                assert designs.within(first, last, micro, score * (1 + 1e-12)) == price
                if objective != "edp":
                    assert fresh.within(first, last, micro, score * (1 - 1e-6)) is None
                assert designs.group(first, last, micro) == price
    check_what_fits(plain)


def check_what_fits(designs: Designs) -> None:
    """That an operation fits where it has a cost, which takes a search."""
    for (kind, micro, placed), fitting in designs.fits.items():
        sized, objective = designs.sized[kind, micro], designs.objective
        if fitting is None:
            assert sized.cost(placed, objective) is None
        elif sized.without_search(fitting, objective) is None:
            assert sized.cost(fitting, objective) is not None


STRIDED = """network strided(batch=1) {
  input x: f32[batch, 4, 17, 16]
  a = relu(conv2d(x, 4, kernel=3, padding=1))
  b = conv2d(a, 4, kernel=1, stride=2)
  output y = max_pool(relu(b), kernel=2, stride=2)
}"""


def test_bounds_hold_where_bands_leave_rows_out() -> None:
    """Between the strides of a window of one, and the last row of an odd number before a pooling."""
    module = read_source(STRIDED, filename="strided.dsl", training=False)
    sizes = {"array.rows": 4, "array.cols": 4, "memory.spm_kib": 4}
    module.attributes[TARGET] = target_attr(machine_target(load_hardware("igo-small", sizes)))
    for step in (LowerToNpuPass(), SchedulePass(objective="traffic")):
        step.apply(Context(), module)
    machine = known_machine(module, "the test")
    chain = chain_of(next(op for op in module.walk() if isinstance(op, FuncOp)).body.block, machine, 1)
    assert chain is not None
    designs = Designs(chain, machine, machine.spm_bytes, "traffic", HALOS)
    walked = 0
    for first in range(len(chain.steps)):
        for last in designs.ends(first):
            design = designs.design(first, last, 1)
            walked += design is not None and design.walk is not None
            price, least = designs.group(first, last, 1), designs.least(first, last, 1)
            assert price is None or (least.cycles <= price.cycles and least.moved <= price.moved)
    assert walked > 0
