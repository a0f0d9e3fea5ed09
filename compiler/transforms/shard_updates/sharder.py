"""Sharding the updates of one function: which of them, along which axis, and what is written in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npuc.compiler.layers import get_layer
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.dialects.distributed import AllGatherOp, AllReduceOp, DistOp, ReduceScatterOp, SliceOp, levels_of, on_mesh
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.distributed.sharding import SHARDING, Sharding, ShardingAttr
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.base import TrainOp

UPDATES = tuple(rule.op for rule in OPTIMIZERS.values())
OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True)
class _Update:
    """An update that can be sharded: the sum of its gradient, the casts behind it, the axis and levels to cut."""

    op: TrainOp
    total: AllReduceOp
    casts: tuple[CastOp, ...]
    axis: int
    levels: tuple[int, ...]

    @property
    def states(self) -> list[BlockArgument]:
        """The states of the parameter, which have its shape."""
        shape = shape_of(self.op.operands[0])
        return [v for v in self.op.operands[2:] if isinstance(v, BlockArgument) and shape_of(v) == shape]


class Sharder:
    """A training step on a mesh; `early`: gradients are summed into parts where they are made, not at the end."""

    def __init__(self, func: FuncOp, mesh: Mesh, *, early: bool):
        self.func, self.mesh, self.early = func, mesh, early
        self.entries = [dict(one.data) for one in func.arg_attrs.data] if func.arg_attrs is not None else []
        self.results = [dict(one.data) for one in func.res_attrs.data] if func.res_attrs is not None else []

    def shard(self) -> int:
        """Rewrite the function; how many updates are sharded."""
        block = self.func.body.block
        found = [update for op in block.ops if isinstance(op, UPDATES) and (update := self._update(op)) is not None]
        for update in found:
            self._rewrite(update)
        if found:
            ending = block.last_op
            assert isinstance(ending, ReturnOp)
            self.func.function_type = FunctionType.from_lists(
                [a.type for a in block.args], [v.type for v in ending.operands]
            )
            self.func.arg_attrs = ArrayAttr(map(DictionaryAttr, self.entries))
            self.func.res_attrs = ArrayAttr(map(DictionaryAttr, self.results))
        return len(found)

    # ---- what can be sharded

    def _update(self, op: TrainOp) -> _Update | None:
        """What is known of an update whose gradient is a sum over devices; None where it stays whole."""
        param = op.operands[0]
        if not isinstance(param, BlockArgument) or not get_layer(op).elementwise:
            return None
        casts: list[CastOp] = []
        value = op.operands[1]
        while isinstance(value.owner, CastOp) and _is_used_once(value):
            casts.insert(0, value.owner)
            value = value.owner.x
        total = value.owner
        if not isinstance(total, AllReduceOp) or total.mean is not None or not _is_used_once(value):
            return None
        levels = levels_of(total)
        sharding = self._sharding(param)
        axis = self._axis(param, sharding)
        update = None if axis is None else _Update(op, total, tuple(casts), axis, levels)
        if update is None or any(not _is_used_once(state) for state in update.states) or set(levels) & {*sharding.cuts}:
            return None
        return update

    def _axis(self, param: SSAValue, sharding: Sharding) -> int | None:
        """The first axis that is whole and divides among the devices."""
        sizes = enumerate(zip(shape_of(param), sharding.axes, strict=True))
        return next((n for n, (size, cut) in sizes if not cut and size % self.mesh.devices == 0), None)

    def _sharding(self, argument: BlockArgument) -> Sharding:
        entry = self.entries[argument.index].get(SHARDING)
        return entry.data if isinstance(entry, ShardingAttr) else Sharding.whole(len(shape_of(argument)))

    # ---- rewriting

    def _rewrite(self, update: _Update) -> None:
        """Replace an update of a whole parameter by one of a part."""
        op, total = update.op, update.total
        param, gradient, *others = op.operands
        place = total if self.early else op
        part = self._cut(ReduceScatterOp, total.x, update, total, place)
        for cast in update.casts:
            target = tensor_of(tensor_type(cast.out).element_type, shape_of(part))
            new = derive(cast, CastOp.create(operands=[part], result_types=[target], properties=cast.properties.copy()))
            self._insert(new, cast if self.early else op)
            part = new.results[0]
        part.name_hint = gradient.name_hint
        own = self._cut(SliceOp, param, update, op, op)
        states = {state: self._state(state, update) for state in update.states}
        operands = [
            own,
            part,
            *(states.get(value, value) if isinstance(value, BlockArgument) else value for value in others),
        ]
        self._replace(update, operands)
        for old in (*reversed(update.casts), total):
            old.detach()
            old.erase()

    def _replace(self, update: _Update, operands: Sequence[SSAValue]) -> None:
        """The update of a part, and the whole parameter gathered from all parts."""
        op = update.op
        shape = shape_of(op.operands[0])
        types = [
            tensor_of(tensor_type(r).element_type, shape_of(operands[0])) if shape_of(r) == shape else tensor_type(r)
            for r in op.results
        ]
        made = type(op).create(operands=operands, result_types=types, properties=op.properties.copy())
        new = derive(op, made)
        self._insert(new, op)
        whole: SSAValue = new.results[0]
        for number, level in enumerate(update.levels):
            own = _listed(update.levels[number + 1 :])
            gather = on_mesh(AllGatherOp, self.mesh, whole, axis=update.axis, over=(level,), **own)
            whole = self._insert(derive(op, gather), op).out
        for old, now in zip(op.results, (whole, *new.results[1:]), strict=True):
            now.name_hint = old.name_hint
            if now is not whole and shape_of(now) != shape_of(old):
                self._say_sharding(old, update)
            old.replace_all_uses_with(now)
        op.detach()
        op.erase()

    def _cut(self, kind: type[DistOp], value: SSAValue, update: _Update, source: TrainOp, place: Operation) -> SSAValue:
        """A device's part of a value, by operations of a kind, from the innermost level on."""
        done: tuple[int, ...] = ()
        for level in reversed(update.levels):
            made = on_mesh(kind, self.mesh, value, axis=update.axis, over=(level,), **_listed(done))
            value, done = self._insert(derive(source, made), place).out, (level, *done)
        return value

    def _state(self, state: BlockArgument, update: _Update) -> SSAValue:
        """A state of which a device has its part."""
        sharding = self._sharding(state)
        for level in update.levels:
            sharding = sharding.with_cut(update.axis, level)
        self.entries[state.index] = {**self.entries[state.index], SHARDING: ShardingAttr(sharding)}
        shape = list(shape_of(state))
        shape[update.axis] //= self.mesh.parts(update.levels)
        return Rewriter.replace_value_with_new_type(state, tensor_of(tensor_type(state).element_type, shape))

    def _say_sharding(self, old: SSAValue, update: _Update) -> None:
        """Say of the results that return a new state that they are parts."""
        for use in old.uses:
            if isinstance(use.operation, ReturnOp):
                entries = self.results[use.index]
                known = entries.get(SHARDING)
                sharding = known.data if isinstance(known, ShardingAttr) else Sharding.whole(len(shape_of(old)))
                for level in update.levels:
                    sharding = sharding.with_cut(update.axis, level)
                self.results[use.index] = {**entries, SHARDING: ShardingAttr(sharding)}

    def _insert(self, new: OpT, place: Operation) -> OpT:
        self.func.body.block.insert_op_before(new, place)
        return new


def _listed(levels: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {"within": levels} if levels else {}


def _is_used_once(value: SSAValue) -> bool:
    return value.has_one_use()
