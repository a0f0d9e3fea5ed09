"""
A module as one list of operations: calls are inlined, loops of constant length unrolled, branches chosen.

What is computed from constants alone is computed here, as far as it is small, so that the counter of a loop is a number
in each of its turns, and the slices that a scan takes of its inputs are at known places. The rows that a scan writes
into a result are kept one by one (`Rows`), so that reading one of them moves nothing. Keys and bits of random numbers
are no operations of the list; what is drawn with them is (`random.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import structs

from npuc.compiler.core.errors import SourceError
from npuc.frontends.jax.arguments import ancestors
from npuc.frontends.jax.fold import folded
from npuc.frontends.jax.layers import scope_of_stack
from npuc.frontends.jax.program import HloModule, HloOp, HloRegion, HloType, error_at
from npuc.frontends.jax.random import Generator, is_unsigned
from npuc.frontends.jax.uniform import NAMES, bernoulli, chance, inverted, moved, uniform_of
from npuc.frontends.jax.values import (
    Bits,
    Drawn,
    Element,
    FlatOp,
    FlatProgram,
    HloValue,
    Known,
    Operand,
    Rows,
    Turn,
    Unrolled,
    rows_of,
)
from npuc.frontends.script.weights import Refused

MAX_DEPTH = 64
MAX_NUMBERS = 1 << 28
"""The most elements of all that is computed of constants."""
_UNSIGNED = "found unsigned integers, which the network language lacks, expected keys of jax.random or their bits"
_LOOP = "lax.scan, or lax.fori_loop between numbers; jnp.where in a turn chooses what it changes"
_BRANCH = "jnp.where or lax.select of both results; static_argnums of jax.jit for what is known before the step"
_CONVERT = "convert them outside of the function"
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
        self.numbers = 0
        self.calls: list[HloOp] = []
        self.stack = ""
        self.turns: tuple[Turn, ...] = ()
        self.generator = Generator(module)
        self.below: dict[int, bool] = {}
        self.arguments: list[HloValue] = []

    def run(self) -> FlatProgram:
        main = self.module.functions[self.module.main]
        self.arguments = arguments = [HloValue(self.module.types[number]) for number in main.body.arguments]
        given = [self.generator.argument(made, number) for number, made in enumerate(arguments)]
        results = self._region(main.body, given, {})
        kept = tuple(number for number, value in enumerate(results) if not is_unsigned(value.type))
        try:
            found = self._computable(main.body.ops[-1], [results[number] for number in kept])
        except Refused as refusal:
            raise self.error(main.body.ops[-1], refusal.message, refusal.hint) from None
        return FlatProgram(arguments, self.ops, found, kept, len(results))

    def error(self, op: HloOp, message: str, hint: str | None = None) -> SourceError:
        placed = next((one for one in (op, *reversed(self.calls)) if one.line or one.at), op)
        named = structs.replace(op, line=placed.line, at=placed.at)
        return error_at(named, self.filename, message, hint)

    def _region(self, region: HloRegion, given: Sequence[Element], outer: dict[int, Element]) -> list[Element]:
        """The results of a block for its arguments."""
        values: dict[int, Element] = {**outer, **dict(zip(region.arguments, given, strict=True))}
        for op in region.ops:
            if op.name in ("func.return", "stablehlo.return"):
                return [values[number] for number in op.operands]
            self.steps += 1
            if self.steps > self.max_ops + 2 * len(self.ops):  # the others are computed here
                message = f"found loops and calls of more than {self.max_ops:,} operations on constants"
                raise self.error(op, message, "--max-ops N allows more")
            try:
                found = self._op(op, [values[number] for number in op.operands], values)
            except Refused as refusal:
                raise self.error(op, refusal.message, refusal.hint) from None
            except (LookupError, ValueError, ArithmeticError, TypeError) as error:
                raise self.error(op, "found attributes that contradict its types") from error
            values.update(zip(op.results, found, strict=True))
        raise SourceError(f"{self.filename}: found a block without a result")

    def _op(self, op: HloOp, operands: list[Element], values: dict[int, Element]) -> Sequence[Element]:
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
            case "sdy.sharding_constraint":
                return operands
            case _:
                pass
        known = folded(op, operands, types)
        if known is not None:
            self._count_numbers(op, known)
            return known
        bits = self.generator.computed(op, types, operands)
        if bits is not None:
            return bits
        if any(isinstance(one, Bits | Drawn) for one in operands):
            return [self._drawn(op, types[0], operands)]
        rows = _row_op(op, operands, types)
        return [rows] if rows is not None else self._written(op, types, self._computable(op, operands))

    def _written(self, op: HloOp, types: Sequence[HloType], operands: Sequence[Operand]) -> list[HloValue]:
        """The results of an operation that the network computes."""
        if len(self.ops) >= self.max_ops:
            raise self.error(op, f"found more than {self.max_ops:,} operations", "--max-ops N allows more")
        flat = FlatOp(len(self.ops) + 1, op, tuple(operands), stack=self._stack(op), turns=self.turns)
        flat.results = [HloValue(type, flat, number) for number, type in enumerate(types)]
        self.ops.append(flat)
        return flat.results

    def _count_numbers(self, op: HloOp, found: Sequence[Element]) -> None:
        """Count the numbers that constants have taken; raise where they are too many."""
        self.numbers += sum(one.stored for one in found if isinstance(one, Known))
        if self.numbers > MAX_NUMBERS:
            raise self.error(op, f"found more than {MAX_NUMBERS:,} numbers that follow from constants")

    def _drawn(self, op: HloOp, type: HloType, operands: Sequence[Element]) -> Element:
        """What an operation makes of random bits, or of uniform numbers."""
        if not any(isinstance(one, Drawn) for one in operands):
            drawn = uniform_of(op, type, operands)
            if drawn is None:
                random = any(isinstance(one, Bits) and one.drawn for one in operands)
                raise self._no_mask(op, "integers") if random else Refused(_UNSIGNED, _CONVERT)
            return drawn
        drawn = moved(op, type, operands)
        if drawn is not None:
            return drawn
        found = chance(op, operands)
        if found is None:
            raise self._no_mask(op)
        of, below, share = found
        if share in (0.0, 1.0):
            return Known(np.broadcast_to(np.array(bool(share)), type.shape), "bool")
        # the draws below a number and those above are one mask and its opposite
        same = self.below.setdefault(of.number, below) == below
        (mask,) = self._written(bernoulli(op, of.number, share if same else 1.0 - share), [type], ())
        return mask if same else self._written(inverted(op), [type], [mask])[0]

    def _no_mask(self, op: HloOp, drawn: str = "uniform numbers") -> Refused:
        """The error of random numbers that are no mask."""
        drawn = NAMES.get(op.kind, drawn)
        if op.kind == "compare":
            drawn = "a mask whose probability is computed, or drawn of two words"
        scope = ".".join(scope_of_stack(self._stack(op), op.kind)[0])
        layer = f" in the layer '{scope}'" if scope else ""
        return Refused(
            f"found random draws of {drawn}{layer}, expected masks of one probability, as jax.random.bernoulli gives",
            "draw them outside of the function, and give them as an argument",
        )

    def _computable(self, op: HloOp, operands: Sequence[Element]) -> list[Operand]:
        """Operands that a network has. Raises `Refused` for keys and uniform numbers."""
        found: list[Operand] = []
        for one in operands:
            if isinstance(one, Bits | Drawn):
                raise self._no_mask(op, "integers" if isinstance(one, Bits) else "uniform numbers")
            found.append(one)
        return found

    def _call(self, op: HloOp, operands: list[Element]) -> list[Element]:
        name = op.texts.get("callee", op.texts.get("decomposition", "")).removeprefix("@").strip('"')
        function = self.module.functions.get(name)
        if function is None or len(function.body.arguments) != len(operands):
            raise self.error(op, f"found a call of '{name}', which is no function of so many arguments")
        if self.generator.is_threefry(function):
            few = self.generator.few(operands)
            if few is None:
                return self.generator.threefry([self.module.types[number] for number in op.results], operands)
            operands = few
        if len(self.calls) >= MAX_DEPTH:
            raise self.error(op, f"found calls deeper than {MAX_DEPTH}")
        saved, self.stack = self.stack, self._stack(op)
        self.calls.append(op)
        try:
            found = self._region(function.body, operands, {})
        finally:
            self.stack = saved
            self.calls.pop()
        return found

    def _stack(self, op: HloOp) -> str:
        """JAX's name of a place, behind those of the calls around."""
        return f"{self.stack}/{op.stack}" if self.stack else op.stack

    def _while(self, op: HloOp, operands: list[Element], values: dict[int, Element]) -> list[Element]:
        carried, (condition, body) = operands, op.regions
        loop, saved = Unrolled(), self.turns
        while True:
            (goes_on,) = self._region(condition, carried, values)
            if not isinstance(goes_on, Known) or goes_on.scalar is None:
                raise self._of_data("found a loop whose condition", goes_on, _LOOP)
            if not goes_on.scalar:
                return carried
            self.turns = (*saved, (loop, loop.turns))
            loop.turns += 1
            try:
                carried = self._region(body, carried, values)
            finally:
                self.turns = saved

    def _of_data(self, found: str, value: Element, hint: str) -> Refused:
        """The error of what constants would have to decide, with the arguments that it depends on."""
        made = ancestors([value]) if isinstance(value, HloValue) else set[HloValue]()
        names = self.module.functions[self.module.main].argument_names
        read = [name for name, argument in zip(names, self.arguments, strict=False) if argument in made and name]
        sources = [*read[:3], "…"] if len(read) > 3 else read
        if any(one.op is not None and one.op.kind == "bernoulli" for one in made):
            sources = [*sources, "a random draw"]
        named = f" ({', '.join(sources)})" if sources else ""
        return Refused(f"{found} depends on data{named}, expected one that follows from constants", hint)

    def _branch(self, op: HloOp, operands: list[Element], values: dict[int, Element]) -> list[Element]:
        chosen = operands[0]
        if not isinstance(chosen, Known) or chosen.scalar is None:
            raise self._of_data(f"found a choice among {len(op.regions)} branches that", chosen, _BRANCH)
        if op.kind == "if":
            return self._region(op.regions[0 if chosen.scalar else 1], [], values)
        number = int(chosen.scalar)
        last = len(op.regions) - 1
        return self._region(op.regions[number if 0 <= number <= last else last], [], values)


def _row_op(op: HloOp, operands: Sequence[Element], types: Sequence[HloType]) -> Element | None:
    """The result of an operation on rows at a known place; None where it is none."""
    if op.kind == "dynamic_update_slice":
        whole, update, *starts = operands
        at = _places(starts)
        if at is None or any(at[1:]) or not whole.type.shape or update.type.shape[1:] != whole.type.shape[1:]:
            return None
        if update.type.shape[0] != 1 or not 0 <= at[0] < whole.type.shape[0]:
            return None
        rows = rows_of(whole)
        if rows is None or isinstance(update, Bits | Drawn):
            return None
        return Rows((*rows[: at[0]], update, *rows[at[0] + 1 :]), whole.type)
    if op.kind in ("dynamic_slice", "slice") and isinstance(operands[0], Rows):
        whole, starts = operands[0], operands[1:]
        at = _places(starts) if op.kind == "dynamic_slice" else op.ints["start_indices"]
        one = types[0].shape[:1] == (1,) and types[0].shape[1:] == whole.type.shape[1:]
        if at is None or not one:
            return None
        return whole.rows[min(max(at[0], 0), len(whole.rows) - 1)]
    return None


def _places(starts: Sequence[Element]) -> list[int] | None:
    """Places that are known; None where one is computed."""
    found = [start.scalar if isinstance(start, Known) else None for start in starts]
    return None if any(one is None for one in found) else [int(one) for one in found if one is not None]
