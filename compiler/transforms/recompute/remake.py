"""Writing a plan of recomputation into a program: copies in the backward pass, and who reads them."""

from xdsl.ir import Operation, OpResult, SSAValue

from npuc.compiler.analysis.memory.liveness import Tensors
from npuc.compiler.analysis.memory.recompute import Plan, RecomputeProblem
from npuc.dialects.provenance import Role, derive, mark_recomputed, role_of


def remake(tensors: Tensors, problem: RecomputeProblem, plan: Plan) -> int:
    """
    Change a program, whose `tensors` and `problem` these are, so that the operations of a plan run again: how many do.

    What no operation of the backward pass needs does not.
    """
    return _Remaking(tensors, problem, plan).run()


class _Remaking:
    """One program and one plan, and the second values so far."""

    def __init__(self, tensors: Tensors, problem: RecomputeProblem, plan: Plan):
        self.tensors, self.problem, self.plan = tensors, problem, plan
        self.made = {b for op in plan for b in problem.slots[op][1]}
        """The buffers that are made again."""
        self.second: dict[SSAValue, SSAValue] = {}
        self.replaced: list[Operation] = []
        """Views of first values whose place others have taken."""

    def run(self) -> int:
        """Put the copies in front of who needs them first: how many."""
        ops, stages = self.tensors.ops, set(self.problem.stages)
        copies, count = list[Operation](), 0
        place: Operation | None = None
        for number in self.problem.sequence(self.plan):
            if number < 0:
                copies.append(ops[~number])
            elif number >= self.problem.boundary:
                if place is None or number in stages:
                    place = ops[number]
                for op in copies:
                    self.copy(op, place)
                count += len(copies)
                copies.clear()
                self.rewire(ops[number], place)
        for view in reversed(self.replaced):
            if not any(result.uses for result in view.results):
                view.detach()
                view.erase()
        return count

    def copy(self, op: Operation, place: Operation) -> None:
        """Put a copy of an operation in front of another."""
        operands = [self.value(value, place) for value in op.operands]
        new = derive(op, op.clone(dict(zip(op.operands, operands, strict=True))))
        if role_of(op) is Role.FORWARD:
            mark_recomputed(new)
        assert place.parent is not None
        place.parent.insert_op_before(new, place)
        self.second.update(zip(op.results, new.results, strict=True))

    def rewire(self, op: Operation, place: Operation) -> None:
        """Let an operation of the backward pass read second values; views of them stand in front of its stage."""
        for number, value in enumerate(op.operands):
            new = self.value(value, place)
            if new is not value:
                op.operands[number] = new

    def value(self, value: SSAValue, place: Operation) -> SSAValue:
        """The second value in place of a first one of the plan, the value itself of any other."""
        if self.tensors.buffer_of.get(value, -1) not in self.made:
            return value
        if value not in self.second:
            assert isinstance(value, OpResult)
            self.copy(value.op, place)
            self.replaced.append(value.op)
        return self.second[value]
