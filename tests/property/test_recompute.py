"""
Random networks over all layers: what runs again is equal to the bit, and costs what the analysis says.

Memory is compared with a walk over the program that allocates and frees.
"""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.compiler.analysis.memory.liveness import memory_of_module, tensors_of
from npuc.compiler.analysis.memory.recompute import problem_of
from npuc.compiler.analysis.nest.elements import element_bytes
from npuc.compiler.driver.check import random_data, run_results
from npuc.compiler.driver.watch.cost_trace import work_of
from npuc.compiler.interpreter.execute import the_function
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind, elements
from npuc.compiler.transforms.autodiff import AutodiffPass
from npuc.compiler.transforms.recompute import RecomputePass
from npuc.compiler.transforms.recompute.remake import remake
from npuc.dialects.provenance import Role, is_recomputed, role_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import results_of
from tests.calls.chain import chained_calls
from tests.networks import integer_networks
from tests.property.test_passes import check_provenance, check_round_trip

NETWORKS = st.one_of(chained_calls(longest=6), integer_networks())


def kind_of(op: Operation) -> Kind:
    assert isinstance(op, TrainOp)
    return get_layer(op).kind


def walked_peak(module: ModuleOp) -> int:
    """The peak of a walk that allocates what an operation makes, and frees what nothing after it reads."""
    func = the_function(module)
    ops = list(func.body.block.ops)
    home: dict[SSAValue, SSAValue] = {arg: arg for arg in func.body.block.args}
    constant: set[SSAValue] = set()
    ending = ops[-1]
    news = {
        ending.operands[r.index]: func.body.block.args[r.updates] for r in results_of(func) if r.updates is not None
    }
    for op in ops[:-1]:
        for result in op.results:
            home[result] = home[op.operands[0]] if kind_of(op) is Kind.VIEW else result
        if kind_of(op) is Kind.CONSTANT or (op.operands and all(v in constant for v in op.operands)):
            constant.update(op.results)
    left = Counter(
        home[v] for op in ops if isinstance(op, ReturnOp) or kind_of(op) is not Kind.VIEW for v in op.operands
    )

    def size(value: SSAValue) -> int:
        return elements(value) * element_bytes(value.type, None)

    always = sum(size(arg) for arg in func.body.block.args)
    for op in ops[:-1]:
        is_free = op.name in ("train.constant", "train.integers") or kind_of(op) is Kind.VIEW
        always += 0 if is_free else sum(size(v) for v in op.results if v in constant)
    held: dict[SSAValue, int] = {}
    peak = always
    for op in ops[:-1]:
        if kind_of(op) is Kind.VIEW or any(v in constant for v in op.results):
            continue
        reads = {home[v] for v in op.operands}
        left.subtract(home[v] for v in op.operands)
        for result in op.results:
            target = news.get(result)
            later = target is not None and left[target] > 0
            held[result] = 0 if target is not None and not later else size(result)
        peak = max(peak, always + sum(held.values()))
        for value in [*reads, *op.results]:
            if left[value] == 0 and not isinstance(value, BlockArgument):
                held.pop(value, None)
    return peak


def is_equal(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> bool:
    return before.keys() == after.keys() and all(np.array_equal(before[k], after[k], equal_nan=True) for k in before)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(module=NETWORKS, seed=st.integers(0, 99))
def test_any_plan_keeps_every_bit_and_costs_what_the_analysis_says(module: ModuleOp, seed: int) -> None:
    AutodiffPass().apply(Context(), module)
    before, work = run_results(module, data := random_data(module, seed)), work_of(module)
    tensors = tensors_of(the_function(module), None)
    problem = problem_of(tensors, lambda layer: True)
    random = Random(seed)
    share = random.random()
    plan = problem.bound | {op for op in sorted(problem.candidates) if random.random() < share}
    outcome = problem.outcome(plan)
    updates = sum(role_of(op) is Role.UPDATE for op in module.walk())
    remake(tensors, problem, plan)
    module.verify()
    check_provenance(module)
    check_round_trip(module)
    assert is_equal(before, run_results(module, data))
    memory = memory_of_module(module)
    assert memory is not None
    assert memory.peak_bytes == outcome.peak_bytes == max(memory.live)
    assert sum(role_of(op) is Role.UPDATE for op in module.walk()) == updates
    assert all(role_of(op) is Role.FORWARD for op in module.walk() if is_recomputed(op))
    after = work_of(module)
    moved = outcome.work - 2 * (after["MACs"] - work["MACs"]) - (after["vector operations"] - work["vector operations"])
    copies = [op for op in module.walk() if is_recomputed(op) and kind_of(op) is Kind.DATA]
    assert moved == sum(elements(v) for op in copies for v in op.results)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(module=NETWORKS, k=st.integers(0, 5))
def test_memory_is_what_a_walk_allocates(module: ModuleOp, k: int) -> None:
    AutodiffPass().apply(Context(), module)
    if k:
        RecomputePass(k=k).apply(Context(), module)
    memory = memory_of_module(module)
    assert memory is not None
    assert memory.peak_bytes == walked_peak(module)
    assert memory.live[memory.at] == memory.peak_bytes
