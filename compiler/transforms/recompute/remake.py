"""Writing a plan of recomputation into a program: what runs again where in the backward pass, and who reads it."""

from xdsl.ir import Operation, OpResult, SSAValue

from npuc.compiler.analysis.memory.liveness import Tensors
from npuc.compiler.analysis.memory.recompute import Plan, RecomputeProblem
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.recompute.patterns import RunAgain


def remake(tensors: Tensors, problem: RecomputeProblem, plan: Plan) -> int:
    """
    Change a program, whose `tensors` and `problem` these are, so that the operations of a plan run again: how many do.

    What no operation of the backward pass needs does not.
    """
    places = _Places(tensors, problem, plan)
    region = tensors.ops[0].parent_region() if places.before else None
    if region is None:
        return 0
    sweep(region, RunAgain(lambda op: places.before.get(op, ()), places.readers.__contains__))
    for view in reversed(places.views):
        if not any(result.uses for result in view.results):
            view.detach()
            view.erase()
    return sum(map(len, places.before.values())) - len(places.views)


class _Places:
    """
    Where the operations of a plan run again.

    `before` are those in front of the first operation of a stage that needs them, with views of their values; `readers`
    the operations of the backward pass, which read second values; `views` the views that run again.
    """

    def __init__(self, tensors: Tensors, problem: RecomputeProblem, plan: Plan):
        self.tensors = tensors
        self.made = {b for op in plan for b in problem.slots[op][1]}
        """The buffers that are made again."""
        self.known = set[SSAValue]()
        """The values that have a second one so far."""
        self.before: dict[Operation, list[Operation]] = {}
        self.readers = set[Operation]()
        self.views: list[Operation] = []
        ops, stages = tensors.ops, set(problem.stages)
        copies: list[Operation] = []
        place: Operation | None = None
        for number in problem.sequence(plan):
            if number < 0:
                copies.append(ops[~number])
            elif number >= problem.boundary:
                if place is None or number in stages:
                    place = ops[number]
                for op in copies:
                    self.put(op, place)
                copies.clear()
                self.readers.add(ops[number])
                self.provide(ops[number], place)

    def put(self, op: Operation, place: Operation) -> None:
        """Run an operation again in front of another, after the views that it reads."""
        self.provide(op, place)
        self.before.setdefault(place, []).append(op)
        self.known.update(op.results)

    def provide(self, op: Operation, place: Operation) -> None:
        """See to it that what an operation reads is there a second time, if the plan makes it again."""
        for value in op.operands:
            if value not in self.known and self.tensors.buffer_of.get(value, -1) in self.made:
                assert isinstance(value, OpResult)
                self.put(value.op, place)
                self.views.append(value.op)
