"""Writes the body of a block or network: which variable holds which value, and the statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npuc.compiler.layers import get_operators
from npuc.frontends.dsl.naming import OWN
from npuc.frontends.dsl.syntax import (
    Argument,
    Assignment,
    Call,
    Definition,
    Expr,
    For,
    Index,
    ListOf,
    Literal,
    Name,
    Operation,
    Place,
    Statement,
    Unary,
)
from npuc.frontends.script.text.calls import same, written
from npuc.frontends.script.text.names import identifier, is_identifier
from npuc.frontends.script.text.parameters import BlockParameters
from npuc.frontends.script.text.patterns import (
    Applied,
    BlockCall,
    Entry,
    Fixed,
    Gap,
    Listed,
    Made,
    Operand,
    Pattern,
    Picked,
    Repeat,
    Skeleton,
    Step,
    Value,
)

_NOWHERE = Place(1, 1)
LOOP = "i"
"""The variable of loops."""
_FEW = 2
"""So many numbers of a call of a block need no names."""


@dataclass(frozen=True)
class BlockText:
    """A block: its name, its parameters, and the definition."""

    name: str
    parameters: BlockParameters
    definition: Definition


@dataclass
class _Variables:
    """Which variable holds which value while a body is written."""

    of: dict[Value, str] = field(default_factory=dict[Value, str])
    last_use: dict[Value, int] = field(default_factory=dict[Value, int])
    fixed: frozenset[str] = frozenset()

    def is_free(self, name: str, step: int) -> bool:
        """Whether a name holds no value that is used behind an entry."""
        if name in self.fixed or name == LOOP:
            return False
        return all(held != name or self.last_use.get(value, -1) <= step for value, held in self.of.items())


class BodyWriter:
    """Writes the statements of one skeleton."""

    def __init__(
        self,
        blocks: Mapping[Skeleton, BlockText],
        skeleton: Skeleton,
        operands: Sequence[str],
        parameters: BlockParameters,
        fixed: Sequence[str] = (),
    ):
        self._blocks = blocks
        self._skeleton = skeleton
        self._parameters = parameters
        names = frozenset((*parameters.sizes, *(p.name for p in parameters.parameters), *fixed))
        self._variables = _Variables({Operand(k): name for k, name in enumerate(operands)}, {}, names)
        for k, entry in enumerate(skeleton.entries):
            for value in _used(entry):
                self._variables.last_use[value] = k
        for value in skeleton.results:
            self._variables.last_use[value] = len(skeleton.entries)

    def statements(self) -> list[Statement]:
        """The statements in their order."""
        found: list[Statement] = []
        for k, entry in enumerate(self._skeleton.entries):
            match entry:
                case Step():
                    found.append(self._step(entry, k))
                case BlockCall():
                    found.append(self._part(entry, k))
                case Repeat():
                    found.extend(self._repeat(entry, k))
        return found

    def value(self, value: Value) -> Name:
        """The variable that holds a value."""
        return Name(_NOWHERE, self._variables.of[value])

    # entries

    def _step(self, step: Step, k: int) -> Statement:
        local = ".".join(step.path)
        is_call = isinstance(step.value, Applied)
        value = self._applied(step.value) if isinstance(step.value, Applied) else self._expr(step.value)
        targets = self._targets(step.targets, local, step, k)
        if isinstance(value, Call) and is_call:
            value = _named(value, local) if targets[0] != local else _operator(value)
        return self._assign(step.targets, targets, value)

    def _part(self, part: BlockCall, k: int) -> Statement:
        call = self._call(part.skeleton, part.operands, part.holes)
        targets = self._targets(part.results, part.component, part, k)
        if targets[0] != part.component or part.shares:
            call = _named(call, part.component)
        return self._assign(part.results, targets, call)

    def _repeat(self, repeat: Repeat, k: int) -> list[Statement]:
        start = self.value(repeat.operands[repeat.carried])
        found: list[Statement] = []
        carried = start.text
        if self._variables.last_use[repeat.operands[repeat.carried]] > k or carried in self._variables.fixed:
            carried = self._fresh("h", k)
            found.append(Assignment(_NOWHERE, (Name(_NOWHERE, carried),), start))
        call = self._call(repeat.skeleton, repeat.operands, repeat.holes, (repeat.carried, carried))
        body = Assignment(_NOWHERE, (Name(_NOWHERE, carried),), call)
        stop = self._parameters.exprs[repeat.stop.number]
        found.append(For(_NOWHERE, Name(_NOWHERE, LOOP), Literal(_NOWHERE, repeat.start), stop, (body,)))
        self._variables.of[repeat.result] = carried
        return found

    def _assign(self, values: Sequence[Made], targets: Sequence[str], value: Expr) -> Statement:
        for made, target in zip(values, targets, strict=True):
            self._variables.of[made] = target
        return Assignment(_NOWHERE, tuple(Name(_NOWHERE, target) for target in targets), value)

    # variables

    def _targets(self, values: Sequence[Made], local: str, entry: Entry, k: int) -> list[str]:
        """Variables for the values of an entry: the layer's name where that can be one and is free."""
        if len(values) == 1 and not is_identifier(local):
            return [self._carrier(local, entry, k)]
        found: list[str] = []
        for number in range(len(values)):
            base = identifier(local.replace(".", "_"))
            found.append(self._fresh(base if number == 0 else f"{base}_{number + 1}", k, found))
        return found

    def _carrier(self, local: str, entry: Entry, k: int) -> str:
        """The variable of a value whose layer has no name for one: that of an operand which ends here, or another."""
        if local == OWN:
            own = self._skeleton.group.path[-1]
            return self._fresh(own if is_identifier(own) else "h", k)
        if "." in local:
            return self._fresh(identifier(local.replace(".", "_")), k)
        for value in _used(entry):
            name = self._variables.of[value]
            if name in ("x", "h") and self._variables.is_free(name, k):
                return name
        return self._fresh("h", k)

    def _fresh(self, base: str, k: int, besides: Sequence[str] = ()) -> str:
        number, name = 2, base
        while name in besides or not self._variables.is_free(name, k):
            name, number = f"{base}_{number}", number + 1
        return name

    # expressions

    def _call(
        self, skeleton: Skeleton, operands: Sequence[Value], holes: int, carried: tuple[int, str] | None = None
    ) -> Call:
        """A call of the block of a skeleton, whose holes begin at one of this body's."""
        block = self._blocks[skeleton]
        names = [self.value(value) for value in operands]
        if carried is not None:
            names[carried[0]] = Name(_NOWHERE, carried[1])
        arguments = [Argument(_NOWHERE, None, name) for name in names]
        arguments += [Argument(_NOWHERE, None, Name(_NOWHERE, size)) for size in block.parameters.sizes]
        parameters = block.parameters.parameters
        few = sum(p.default is None for p in parameters) <= _FEW
        for parameter in parameters:
            value = self._parameters.exprs[holes + parameter.hole]
            if parameter.default is None:
                arguments.append(Argument(_NOWHERE, None if few else parameter.name, value))
            elif not same(value, parameter.default):
                arguments.append(Argument(_NOWHERE, parameter.name, value))
        return Call(_NOWHERE, block.name, tuple(arguments))

    def _expr(self, pattern: Pattern) -> Expr:
        match pattern:
            case Gap():
                return self._parameters.exprs[pattern.number]
            case Operand() | Made():
                return self.value(pattern)
            case Listed():
                return ListOf(_NOWHERE, tuple(map(self._expr, pattern.items)))
            case Fixed():
                return ListOf(_NOWHERE, tuple(Literal(_NOWHERE, v) for _, v in pattern.values))
            case Picked():
                return Index(_NOWHERE, self._expr(pattern.sequence), Literal(_NOWHERE, pattern.index))
            case Applied():
                return _operator(self._applied(pattern))

    def _applied(self, pattern: Applied) -> Call:
        values = {name: self._expr(value) for name, value in pattern.arguments}
        return written(pattern.function, values, frozen=pattern.frozen)


def _used(entry: Entry) -> list[Value]:
    """The values that an entry uses."""
    if not isinstance(entry, Step):
        return list(entry.operands)
    found: list[Value] = []
    stack: list[Pattern] = [entry.value]
    while stack:
        match stack.pop():
            case (Operand() | Made()) as value:
                found.append(value)
            case Listed(items):
                stack.extend(items)
            case Picked(sequence):
                stack.append(sequence)
            case Applied(arguments=arguments):
                stack.extend(value for _, value in arguments)
            case _:
                pass
    return found


def _named(call: Call, name: str) -> Call:
    """A call that says the name of its layer."""
    given = Argument(_NOWHERE, "name", Literal(_NOWHERE, name))
    return Call(_NOWHERE, call.function, (*call.arguments, given), call.frozen)


def _operator(call: Call) -> Expr:
    """A call of what has an operator, written by it."""
    symbols = {function.__name__: symbol for symbol, function in get_operators().items()}
    symbol = symbols.get(call.function)
    operands = [a.value for a in call.arguments]
    if call.function == "neg" and len(operands) == 1:
        return Unary(_NOWHERE, "-", operands[0])
    if symbol is None or len(operands) != 2:
        return call
    return Operation(_NOWHERE, operands[0], ((symbol, _NOWHERE, operands[1]),))
