"""The rows of operands that a group needs, whatever its bands are: those between strides, for example, it does not."""

from collections.abc import Iterable, Mapping

from xdsl.ir import Operation

from npuc.compiler.analysis.fusion.rows.bands import RowProgram
from npuc.compiler.analysis.fusion.rows.maps import RowMap


def needed_rows(program: RowProgram) -> Mapping[tuple[Operation, int], tuple[int, int]]:
    """
    By an operation and the number of an operand that has rows: the rows of it that the results of the program need, and
    those that the operation reads for all of its own.
    """
    needed = {value: set(range(program.height(value))) for value in program.results}
    found: dict[tuple[Operation, int], tuple[int, int]] = {}
    for op, step in reversed(list(program.steps.items())):
        made = {row for value in op.results for row in needed.get(value, ())}
        for number, one in enumerate(step.reads):
            if one is not None:
                own = _read(one, made)
                found[op, number] = len(own), len(_read(one, range(step.height)))
                needed.setdefault(op.operands[number], set()).update(own)
    return found


def _read(one: RowMap, rows: Iterable[int]) -> set[int]:
    """The rows of an operand that are there of those that some rows of the result need."""
    return {there for row in rows for there in range(*one.needed((row, row + 1)))}
