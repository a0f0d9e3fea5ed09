"""Evaluation of expressions: numbers now, tensors as operations of the network under construction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from npuc.compiler.core.errors import did_you_mean
from npuc.frontends.dsl.arithmetic import boolean, combine, item, negate
from npuc.frontends.dsl.budget import Budget
from npuc.frontends.dsl.naming import Frame, Slot
from npuc.frontends.dsl.spellings import value_hint
from npuc.frontends.dsl.syntax import (
    Call,
    Conditional,
    Expr,
    Index,
    ListOf,
    Literal,
    Logical,
    Name,
    Operation,
    Unary,
)
from npuc.frontends.dsl.values import Fault, Poison, Poisoned, Value, checked_list, describe
from npuc.frontends.source_text import Place

MINUS = "neg"
"""The function that a minus before a tensor stands for."""
_UNKNOWN = Poison()
_Composed: TypeAlias = Call | Operation | ListOf | Index | Conditional | Logical | Unary
_BUILDING = "conditions are decided while the network is built; "
_TENSOR_HINTS = {
    "if": f"{_BUILDING}where(condition, a, b) chooses elements",
    "and": f"{_BUILDING}on tensors write logical_and(a, b)",
    "or": f"{_BUILDING}on tensors write logical_or(a, b)",
    "not": f"{_BUILDING}on tensors write logical_not(a)",
}


def _meets_tensor(symbol: str, a: Value, b: Value) -> bool:
    """Whether an operator works on tensors; comparisons with none are decided while the network is built."""
    if symbol in ("==", "!=") and (a is None or b is None):
        return False
    return isinstance(a, SSAValue) or isinstance(b, SSAValue)


class Expressions(ABC):
    """Evaluates expressions; calls and operators on tensors are the subclass's."""

    def __init__(self, budget: Budget):
        self.budget = budget

    @abstractmethod
    def call(self, call: Call, frame: Frame, slot: Slot, outermost: bool) -> Value:
        """The value of a call."""

    @abstractmethod
    def operate(self, symbol: str, at: Place, operands: Sequence[Value], frame: Frame, name: str) -> Value:
        """The result of an operator on tensors, as a layer of a name."""

    @abstractmethod
    def operator_name(self, symbol: str) -> str:
        """The name of the function that an operator on tensors stands for; a Fault if there is none."""

    def evaluate(self, expr: Expr, frame: Frame, slot: Slot, *, outermost: bool = False) -> Value:
        """
        The value of an expression.

        `outermost` is true where the layer made by a call takes the name of the assigned variable. Raises a located
        error, or Poisoned if the expression depends on a mistake reported before.
        """
        self.budget.enter(frame, expr.at)
        if isinstance(expr, Name | Literal):
            self.budget.nesting -= 1
            return self._variable(expr, frame) if isinstance(expr, Name) else expr.value
        try:
            return self._evaluate(expr, frame, slot, outermost)
        except Fault as fault:
            raise frame.source.error(expr.at, fault.message, fault.hint) from None
        finally:
            self.budget.nesting -= 1

    def _evaluate(self, expr: _Composed, frame: Frame, slot: Slot, outermost: bool) -> Value:
        match expr:
            case Call():
                return self.call(expr, frame, slot, outermost)
            case Operation():
                return self._operation(expr, frame, slot, outermost)
            case ListOf():
                items = [self.evaluate(e, frame, slot) for e in expr.items]
                self.budget.spend(frame, expr.at, len(items))
                return checked_list(items)
            case Index():
                return item(self.evaluate(expr.sequence, frame, slot), self.evaluate(expr.index, frame, slot))
            case Conditional():
                chosen = self._choose(expr, frame, slot)
                return self.evaluate(chosen, frame, slot, outermost=outermost)
            case Logical():
                decisive = expr.word == "or"
                return any(self.condition(e, frame, slot, expr.word) == decisive for e in expr.parts) == decisive
            case Unary():
                return self._unary(expr, frame, slot, outermost)

    def condition(self, expr: Expr, frame: Frame, slot: Slot, word: str = "if") -> bool:
        """The value of an expression that must be true or false; `word` is what asks for it."""
        value = self.evaluate(expr, frame, slot)
        try:
            return boolean(value)
        except Fault as fault:
            hint = _TENSOR_HINTS[word] if isinstance(value, SSAValue) else "compare with a value: n > 0"
            raise frame.source.error(expr.at, fault.message, hint) from None

    def _variable(self, name: Name, frame: Frame) -> Value:
        value = frame.variables.get(name.text, _UNKNOWN)
        if value is _UNKNOWN:
            hint = value_hint(name.text) or did_you_mean(name.text, sorted(frame.variables))
            raise frame.source.error(name.at, f"found the unknown name '{name.text}'", hint)
        if isinstance(value, Poison):
            raise Poisoned
        return value

    def _choose(self, expr: Conditional, frame: Frame, slot: Slot) -> Expr:
        for condition, chosen in expr.cases:
            if self.condition(condition, frame, slot):
                return chosen
        return expr.otherwise

    def _operation(self, expr: Operation, frame: Frame, slot: Slot, outermost: bool) -> Value:
        value = self.evaluate(expr.first, frame, slot)
        last = len(expr.rest) - 1
        for position, (symbol, at, operand) in enumerate(expr.rest):
            other = self.evaluate(operand, frame, slot)
            try:
                if _meets_tensor(symbol, value, other):
                    name = slot.layer(self.operator_name(symbol), outermost and position == last)
                    value = self.operate(symbol, at, (value, other), frame, name)
                else:
                    before = len(value) if isinstance(value, list) else 0
                    value = combine(symbol, value, other)
                    if isinstance(value, list) and isinstance(other, list):
                        # appending one item costs little more than the item
                        self.budget.spend(frame, at, len(value) - max(before, len(other)) + len(value) // 64)
            except Fault as fault:
                raise frame.source.error(at, fault.message, fault.hint) from None
        return value

    def _unary(self, expr: Unary, frame: Frame, slot: Slot, outermost: bool) -> Value:
        if expr.operator == "not":
            return not self.condition(expr.operand, frame, slot, "not")
        value = self.evaluate(expr.operand, frame, slot)
        if isinstance(value, SSAValue):
            return self.operate("-", expr.at, (value,), frame, slot.layer(MINUS, outermost))
        return negate(value)

    def single(self, expr: Expr, frame: Frame, slot: Slot) -> Value:
        """The value of an expression that must be one value."""
        value = self.evaluate(expr, frame, slot)
        if isinstance(value, tuple):
            raise frame.source.error(expr.at, f"found {describe(value)}, expected one", "assign them: a, b = …")
        return value
