"""
The pass `recompute`: activation checkpointing.

    %h = train.relu %a                                   %h = train.relu %a
    …                                                    …
    %dw = train.matmul %h t, %dy {role = "dw"}    ->     %h_1 = train.relu %a {layer = "act", recompute}
                                                         %dw = train.matmul %h_1 t, %dy {role = "dw"}

Forward operations run a second time in front of the operations of the first layer of the backward pass that needs them,
so that their values need not be kept from one pass to the other. `policy` says which: `none`; `every-k`, all but what
crosses the end of each k-th layer; `optimal`, those with the least work for which the peak stays within a budget;
`reversible`, those of residual pairs y1 = x1 + F(x2), y2 = x2 + G(y1), whose inputs are computed from their outputs, so
that a chain of pairs keeps its last one. What the copy computes is equal to the bit, but for values that are computed
back, which are equal within rounding; it carries the attribute `recompute`. Updates of running statistics do not run
again.

A policy chooses from the whole step; the pattern `run-again` writes what it chooses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil, inf
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.analysis.memory.liveness import Tensors, tensors_of
from npuc.compiler.analysis.memory.recompute import Plan, RecomputeProblem, common_k, every, problem_of
from npuc.compiler.analysis.memory.recompute_exact import Unsolved, least_peak, least_work
from npuc.compiler.analysis.memory.recompute_program import size_of
from npuc.compiler.analysis.memory.recompute_search import RecomputeResult, cheapest
from npuc.compiler.analysis.memory.reversible import Irreversible, chains_of
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.core.stages import remark
from npuc.compiler.core.units import MIB
from npuc.compiler.core.verify import location_of, refused, require_train_level
from npuc.compiler.transforms.recompute.rebuild import rebuild
from npuc.compiler.transforms.recompute.remake import remake
from npuc.compiler.transforms.unused import options_given, remark_idle, remark_unmatched
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.signature import has_loss, is_differentiated, training_functions, trains

POLICIES = ("none", "every-k", "optimal", "reversible")
REVERSIBLE = "reversible"
WITHIN = 1e-10
"""How near the gradients of a step that computes values back are to the others in float64, relative to the largest."""
SHOWN = 3
"""How many layers of one reason a remark names."""
EXACT = 1500
"""Up to so many points at which something may run again, `optimal` is exact."""


@dataclass(frozen=True)
class RecomputePass(ModulePass):
    """
    Run forward operations again in the backward pass: `policy` (none, every-k, optimal, reversible) says which.

    `k` are the layers of a segment (by default the root of their number), `budget_mib` the memory of all tensors that
    `optimal` may use, `only` a glob of the layers that may run again.
    """

    name = "recompute"
    EXAMPLE: ClassVar = "autodiff,recompute{policy=every-k k=3}"

    policy: str = "every-k"
    """Which operations: none, every-k, optimal, or reversible: those of residual pairs, which are computed back."""
    k: int | None = None
    """The layers of a segment, with every-k; by default the root of their number."""
    budget_mib: int | float | None = None
    """The memory of all tensors that optimal may use."""
    only: str | None = None
    """A glob of the layers that may run again."""

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"policy is '{self.policy}', expected {', '.join(POLICIES)}")
        if self.k is not None and (self.policy != "every-k" or self.k < 1):
            raise ValueError(f"k is {self.k}, expected at least 1, with policy=every-k")
        if (self.budget_mib is not None) != (self.policy == "optimal"):
            raise ValueError("expected a budget_mib with policy=optimal, and with no other policy")
        if self.only is not None and self.policy == "none":
            raise ValueError(f"only is '{self.only}', expected none with policy=none")
        if self.budget_mib is not None and not 0 < self.budget_mib < inf:
            raise ValueError(f"budget_mib is {self.budget_mib}, expected more than 0")

    @property
    def within(self) -> float | None:
        """How near what the step computes stays to what it computed before; None: it is equal to the bit."""
        return WITHIN if self.policy == REVERSIBLE else None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        again, layers = 0, list[str]()
        for func in training_functions(op):
            self._check_level(func)
            tensors = tensors_of(func, None if machine is None else machine.element_bytes)
            layers += [layer_of(one) for one in tensors.ops[: tensors.boundary]]
            if self.policy == REVERSIBLE:
                again += self._reverse(func, tensors)
                continue
            problem = problem_of(tensors, self._is_wanted)
            again += remake(tensors, problem, self._plan(problem, func))
        if remark_unmatched(self, self.only, layers, "operation of the forward pass"):
            # a budget may be kept without
            if self.policy in ("every-k", REVERSIBLE) and again == 0 and options_given(self):
                remark_idle(self, "with these options nothing runs again")

    def _check_level(self, func: FuncOp) -> None:
        """Refuse functions that are not differentiated yet, or lowered already; one that trains nothing stays."""
        if not is_differentiated(func) and (trains(func) or not has_loss(func)):
            why = "" if has_loss(func) else ", and a function without a loss gets none"
            raise refused(func, f"there is no backward pass: run it after autodiff{why}", self.name)
        require_train_level(func, self.name)

    def _is_wanted(self, layer: str) -> bool:
        return self.only is None or fnmatchcase(layer, self.only)

    def _reverse(self, func: FuncOp, tensors: Tensors) -> int:
        """Keep the last pair of each chain of residual pairs: how many operations run again."""
        found = chains_of(func, self._is_wanted)
        if not found.chains and self.only is None:
            odd = next(iter(found.left), None)
            if odd is None:
                raise SourceError(
                    f"{self.name}: found no residual pair y1 = x1 + F(x2), y2 = x2 + G(y1), expected at least one",
                    location=location_of(func),
                    hint="policy=every-k and policy=optimal take any network",
                )
            raise SourceError(
                f"{self.name}: '{layer_of(odd.addition)}' is no residual pair: {odd.reason}",
                location=location_of(odd.addition),
                hint="pairs y1 = x1 + F(x2), y2 = x2 + G(y1) in its place are another network, which computes another "
                "function; policy=every-k and policy=optimal take any network",
            )
        if found.left and found.chains:
            remark(f"pass '{self}': {_left_text(found.left)}")
        return rebuild(func, tensors, found)

    def _plan(self, problem: RecomputeProblem, func: FuncOp) -> Plan:
        if self.policy == "none":
            return frozenset()
        if self.budget_mib is None:
            return every(problem, self.k or common_k(problem))
        found = optimal(problem, int(self.budget_mib * MIB))
        if found.plan is None:
            least = ceil(found.least_bytes / MIB * 1000) / 1000
            raise CapacityError(
                f"{self.name}: no plan keeps the memory of tensors within {self.budget_mib:,} MiB",
                location=location_of(func),
                hint=f"the least budget for which one is found: budget_mib={least}",
            )
        return found.plan


def _left_text(left: Sequence[Irreversible]) -> str:
    """Which residual additions keep their values, and why: up to three of them for each reason."""
    layers: dict[str, list[str]] = {}
    for one in left:
        layers.setdefault(one.reason, []).append(f"'{layer_of(one.addition)}'")
    texts = list[str]()
    for reason, names in layers.items():
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        are = "are no residual pairs" if len(names) > 1 else "is no residual pair"
        texts.append(f"{', '.join(names[:SHOWN])}{more} {are} and keep{'s' * (len(names) == 1)} values: {reason}")
    return "; ".join(texts)


def optimal(problem: RecomputeProblem, budget: int) -> RecomputeResult:
    """The plan of least work within a budget of bytes: exact for small steps, by search for large ones."""
    if problem.outcome(problem.bound).peak_bytes <= budget:
        return RecomputeResult(problem.bound, budget)
    if size_of(problem) <= EXACT:
        try:
            plan = least_work(problem, budget)
            return RecomputeResult(
                plan, budget if plan is not None else problem.outcome(least_peak(problem)).peak_bytes
            )
        except Unsolved:
            pass
    return cheapest(problem, budget)
