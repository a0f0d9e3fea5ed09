"""Passes that leave a program as it was, which is told of those that a user names."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from npuc.compiler.core.stages import is_listened_to, remark, remarks_made
from npuc.compiler.driver.watch.watcher import Watcher


class Unchanged(Watcher):
    """Remarks that a pass changes nothing, unless the pass gives the reason by itself or nobody listens."""

    def __init__(self) -> None:
        self._earlier: list[object] | None = None
        self._made = 0

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        self._earlier, self._made = structure_of(module) if is_listened_to() else None, remarks_made()

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        if self._earlier is not None and remarks_made() == self._made and structure_of(module) == self._earlier:
            remark(f"pass '{step}' changed nothing")
        self._earlier = None


def structure_of(module: ModuleOp) -> list[object]:
    """What a program is, its values and blocks numbered as they occur: equal for two that differ in hints alone."""
    numbers: dict[SSAValue | Block, int] = {}

    def number(one: SSAValue | Block) -> int:
        return numbers.setdefault(one, len(numbers))

    def blocks(region: Region) -> list[object]:
        found = ((number(one), [(number(a), a.type) for a in one.args], len(one.ops)) for one in region.blocks)
        return list[object](found)

    def key(op: Operation) -> object:
        values = [number(one) for one in op.operands], [(number(one), one.type) for one in op.results]
        facts = op.name, dict(op.attributes), dict(op.properties)
        return facts, values, [number(one) for one in op.successors], [blocks(region) for region in op.regions]

    return [key(op) for op in module.walk()]
