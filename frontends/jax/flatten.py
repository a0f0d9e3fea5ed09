"""
A module as one list of operations: calls are inlined, loops of constant length unrolled, branches chosen.

What is computed from constants alone is computed here, as far as it is small, so that the counter of a loop is a number
in each of its turns, and the slices that a scan takes of its inputs are at known places. The rows that a scan writes
into a result are kept one by one (`Rows`), so that reading one of them moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.errors import SourceError
from npuc.frontends.jax.fold import folded
from npuc.frontends.jax.program import HloModule, HloOp, HloRegion, HloType
from npuc.frontends.jax.values import FlatOp, FlatProgram, HloValue, Known, Operand, Rows, Turn, Unrolled, rows_of

MAX_DEPTH = 64
MAX_NUMBERS = 1 << 28
"""The most elements of all that is computed of constants."""
NOOPS = ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement")
"""Custom calls that give their operands."""


def flatten(module: HloModule, filename: str, max_ops: int) -> FlatProgram:
    """The list of a module. Raises `SourceError` for loops and branches that depend on data."""
    return _Flattening(module, filename, max_ops).run()


class _Flattening:
    def __init__(self, module: HloModule, filename: str, max_ops: int):
        self.module, self.filename, self.max_ops = module, filename, max_ops
        self.ops: list[FlatOp] = []
        self.steps = 0
        self.depth = 0
        self.numbers = 0
        self.stack = ""
        self.turns: tuple[Turn, ...] = ()

    def run(self) -> FlatProgram:
        main = self.module.functions[self.module.main]
        arguments = [HloValue(self.module.types[number]) for number in main.body.arguments]
        results = self._region(main.body, list(arguments), {})
        return FlatProgram(arguments, self.ops, results)

    def error(self, op: HloOp, message: str, hint: str | None = None) -> SourceError:
        place = f" ({op.line})" if op.line else ""
        return SourceError(f"{self.filename}: {op.name}{place}: {message}", hint=hint)

    def _region(self, region: HloRegion, given: Sequence[Operand], outer: dict[int, Operand]) -> list[Operand]:
        """The results of a block for its arguments."""
        values: dict[int, Operand] = {**outer, **dict(zip(region.arguments, given, strict=True))}
        for op in region.ops:
            if op.name in ("func.return", "stablehlo.return"):
                return [values[number] for number in op.operands]
            self.steps += 1
            if self.steps > 2 * self.max_ops:
                message = f"found loops and calls of more than {2 * self.max_ops:,} operations"
                raise self.error(op, message, "--max-ops N allows more")
            try:
                found = self._op(op, [values[number] for number in op.operands], values)
            except (LookupError, ValueError, ArithmeticError, TypeError) as error:
                raise self.error(op, "found attributes that contradict its types") from error
            values.update(zip(op.results, found, strict=True))
        raise SourceError(f"{self.filename}: found a block without a result")

    def _op(self, op: HloOp, operands: list[Operand], values: dict[int, Operand]) -> Sequence[Operand]:
        types = [self.module.types[number] for number in op.results]
        match op.name:
            case "func.call" | "call" | "stablehlo.composite":
                return self._call(op, operands)
            case "stablehlo.while":
                return self._while(op, operands, values)
            case "stablehlo.if" | "stablehlo.case":
                return self._branch(op, operands, values)
            case "stablehlo.optimization_barrier":
                return operands
            case "stablehlo.custom_call" if op.texts.get("call_target_name") in NOOPS and len(operands) == len(types):
                return operands
            case _:
                pass
        known = folded(op, operands, types)
        if known is not None:
            self._count_numbers(op, known)
            return known
        rows = _row_op(op, operands, types)
        if rows is not None:
            return [rows]
        if len(self.ops) >= self.max_ops:
            raise self.error(op, f"found more than {self.max_ops:,} operations", "--max-ops N allows more")
        flat = FlatOp(len(self.ops) + 1, op, tuple(operands), stack=self._stack(op), turns=self.turns)
        flat.results = [HloValue(type, flat, number) for number, type in enumerate(types)]
        self.ops.append(flat)
        return flat.results

    def _count_numbers(self, op: HloOp, found: Sequence[Operand]) -> None:
        """Count the numbers that constants have taken; raise where they are too many."""
        self.numbers += sum(one.stored for one in found if isinstance(one, Known))
        if self.numbers > MAX_NUMBERS:
            raise self.error(op, f"found more than {MAX_NUMBERS:,} numbers that follow from constants")

    def _call(self, op: HloOp, operands: list[Operand]) -> list[Operand]:
        name = op.texts.get("callee", op.texts.get("decomposition", "")).removeprefix("@").strip('"')
        function = self.module.functions.get(name)
        if function is None or len(function.body.arguments) != len(operands):
            raise self.error(op, f"found a call of '{name}', which is no function of so many arguments")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(op, f"found calls deeper than {MAX_DEPTH}")
        saved, self.stack = self.stack, self._stack(op)
        try:
            found = self._region(function.body, operands, {})
        finally:
            self.stack, self.depth = saved, self.depth - 1
        return found

    def _stack(self, op: HloOp) -> str:
        """JAX's name of a place, behind those of the calls around."""
        return f"{self.stack}/{op.stack}" if self.stack else op.stack

    def _while(self, op: HloOp, operands: list[Operand], values: dict[int, Operand]) -> list[Operand]:
        carried, (condition, body) = operands, op.regions
        loop, saved = Unrolled(), self.turns
        while True:
            (goes_on,) = self._region(condition, carried, values)
            if not isinstance(goes_on, Known) or goes_on.scalar is None:
                raise self.error(op, "found a loop whose length depends on data", "lax.scan has a constant length")
            if not goes_on.scalar:
                return carried
            self.turns = (*saved, (loop, loop.turns))
            loop.turns += 1
            try:
                carried = self._region(body, carried, values)
            finally:
                self.turns = saved

    def _branch(self, op: HloOp, operands: list[Operand], values: dict[int, Operand]) -> list[Operand]:
        chosen = operands[0]
        if not isinstance(chosen, Known) or chosen.scalar is None:
            raise self.error(op, "found a branch that depends on data", "jnp.where computes both")
        if op.kind == "if":
            return self._region(op.regions[0 if chosen.scalar else 1], [], values)
        number = int(chosen.scalar)
        last = len(op.regions) - 1
        return self._region(op.regions[number if 0 <= number <= last else last], [], values)


def _row_op(op: HloOp, operands: list[Operand], types: list[HloType]) -> Operand | None:
    """The result of an operation on rows at a known place; None where it is none."""
    if op.kind == "dynamic_update_slice":
        whole, update, *starts = operands
        at = _places(starts)
        if at is None or any(at[1:]) or not whole.type.shape or update.type.shape[1:] != whole.type.shape[1:]:
            return None
        if update.type.shape[0] != 1 or not 0 <= at[0] < whole.type.shape[0]:
            return None
        rows = rows_of(whole)
        return None if rows is None else Rows((*rows[: at[0]], update, *rows[at[0] + 1 :]), whole.type)
    if op.kind in ("dynamic_slice", "slice") and isinstance(operands[0], Rows):
        whole, starts = operands[0], operands[1:]
        at = _places(starts) if op.kind == "dynamic_slice" else op.ints["start_indices"]
        one = types[0].shape[:1] == (1,) and types[0].shape[1:] == whole.type.shape[1:]
        if at is None or not one:
            return None
        return whole.rows[min(max(at[0], 0), len(whole.rows) - 1)]
    return None


def _places(starts: Sequence[Operand]) -> list[int] | None:
    """Places that are known; None where one is computed."""
    found = [start.scalar if isinstance(start, Known) else None for start in starts]
    return None if any(one is None for one in found) else [int(one) for one in found if one is not None]
