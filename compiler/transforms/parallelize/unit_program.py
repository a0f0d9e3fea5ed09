"""
The program of the units of a step's work: a function for each, with its part of the backward pass.

The functions take what units are given as arguments, gradients that others have begun too, and return what others read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue

from npuc.compiler.transforms.autodiff import propagate, reached_from
from npuc.compiler.transforms.autodiff.step import Step
from npuc.compiler.transforms.autodiff.updates import count_step, optimize
from npuc.compiler.transforms.parallelize.unit_work import UnitWork
from npuc.dialects.blocks import gather, loose_argument, needed
from npuc.dialects.distributed.mesh import MESH, Mesh, MeshAttr
from npuc.dialects.provenance import Role, derive, role_attr
from npuc.dialects.tensors import tensor_of, tensor_type
from npuc.dialects.train.arithmetic import AddOp, constant
from npuc.dialects.train.signature import Argument

OpT = TypeVar("OpT", bound=Operation)
OPTIMIZER = "train.optimizer"


class UnitProgram:
    """Functions of units, whose operations have the unit's name as their layer."""

    def __init__(self, func: FuncOp, mesh: Mesh, *, trains: bool):
        self.source, self.mesh, self.trains = func, mesh, trains
        self.functions: list[FuncOp] = []
        self.counts_steps = False
        """Whether an update counts steps."""

    @property
    def module(self) -> ModuleOp:
        """The program, for the same machine as the function."""
        whole = self.source.parent_op()
        return ModuleOp(self.functions, {} if whole is None else dict(whole.attributes))

    def add(self, name: str, work: UnitWork) -> None:
        """Add a component, or what is known before the step."""
        step = self._begin(work.arguments)
        func = self._function(name, step.args, work.ops, work.read)
        if self.trains:
            self._backward(step, work)
        self._finish(func, step, work.ops, work.read, work.wanted)

    def add_addition(self, name: str, type: TensorType[Attribute]) -> None:
        """Add the addition of two gradients."""
        step = self._begin([self._argument(type), self._argument(type)])
        step.append(_named(AddOp(*step.args), name, Role.DX))
        self._finish(self._function(name, step.args, [], []), step, [], [step.appended[-1].results[0]], [])

    def add_update(self, name: str, argument: Argument, type: TensorType[Attribute]) -> None:
        """Add the optimizer's work on one parameter."""
        spec = self.source.attributes.get(OPTIMIZER)
        assert isinstance(spec, DictionaryAttr)
        param, gradient = self._argument(type), self._argument(type)
        step = self._begin([param, gradient])
        step.gradients[param] = gradient
        func = self._function(name, step.args, [], [])
        optimize(step, func, spec, [(replace(argument, index=0, name=name), param)])
        self.counts_steps |= any(map(_is_count, step.args))
        self._finish(func, step, [], [value for value, _ in step.results], [])

    def add_count(self, name: str) -> None:
        """Add the increment of the number of steps."""
        step = self._begin([])
        step.new_state("step", tensor_of(i64, ()), self.source.location)
        count_step(step)
        for op in step.appended:
            op.attributes["layer"] = StringAttr(name)
        self._finish(self._function(name, step.args, [], []), step, [], [value for value, _ in step.results], [])

    def _argument(self, type: Attribute) -> BlockArgument:
        return loose_argument(type, self.source.location, "")

    def _begin(self, arguments: list[BlockArgument]) -> Step:
        return Step(list(arguments), [DictionaryAttr({}) for _ in arguments])

    def _function(
        self, name: str, arguments: list[BlockArgument], ops: list[Operation], results: list[SSAValue]
    ) -> FuncOp:
        body = gather(list(arguments), [*ops, ReturnOp(*results)])
        types = [a.type for a in arguments], [value.type for value in results]
        func = FuncOp(name_of_unit(name), types, Region(body))
        func.attributes[MESH] = MeshAttr(self.mesh)
        return func

    def _backward(self, step: Step, work: UnitWork) -> None:
        """Emit a unit's part of the backward pass."""
        for value, is_known in work.gradients:
            if is_known:
                known = constant(tensor_type(value), 1.0)
                step.gradients[value] = step.append(_named(known, "", Role.DX)).out
            else:
                step.args.append(self._argument(value.type))
                step.arg_attrs.append(DictionaryAttr({}))
                step.gradients[value] = step.args[-1]
        active, fed = reached_from(work.ops, work.active), reached_from(work.ops, work.fed)
        if work.loss in active and isinstance(work.loss, SSAValue) and isinstance(work.loss.owner, Operation):
            seed = derive(work.loss.owner, constant(tensor_type(work.loss), 1.0), role=Role.DX)
            step.gradients[work.loss] = step.append(seed).out
        propagate(step, work.ops, active, fed, {})

    def _finish(
        self, func: FuncOp, step: Step, ops: list[Operation], read: list[SSAValue], wanted: list[SSAValue]
    ) -> None:
        """Give a unit's function all of its operations."""
        gradients = [step.gradients[value] for value in wanted if value in step.gradients]
        results = [*read, *gradients]
        appended, _ = needed(step.appended, results)
        for op in list(func.body.block.ops):
            op.detach()
            if isinstance(op, ReturnOp):
                op.erase()
        func.body.detach_block(0)
        made = self._function(func.sym_name.data, step.args, [*ops, *appended], results)
        if self.trains and results:
            entries = [DictionaryAttr({"train.gradient": IntegerAttr(0, i64)}), *([DictionaryAttr({})] * len(results))]
            made.res_attrs = ArrayAttr(entries[: len(results)])
        made.sym_name = func.sym_name
        self.functions.append(made)


def name_of_unit(unit: str | int) -> str:
    """The name of the function of a unit."""
    return f"unit_{unit}"


def _is_count(value: BlockArgument) -> bool:
    return value.type == tensor_of(i64, ())


def _named(op: OpT, layer: str, role: Role) -> OpT:
    op.attributes |= {"layer": StringAttr(layer), "role": role_attr(role)}
    return op
