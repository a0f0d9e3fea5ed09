"""The two steps of a training with predicted gradients, made of a forward function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.core.verify import refused
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.compiler.transforms.autodiff import backward, differentiate
from npuc.compiler.transforms.autodiff.updates import begin, count_step, finish, optimize, trained_of
from npuc.compiler.transforms.predict_gradients.place import placed
from npuc.compiler.transforms.predict_gradients.predictor import NAME, PredictorFunction, Shape, predictor
from npuc.compiler.transforms.predict_gradients.weights import PredictedWeight, predicted_weights
from npuc.dialects.blocks import loose_argument
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of, results_of

LOSS = f"{NAME}.loss"
"""The output that has the squared error of a predictor in a step that trains it."""
UPDATES = tuple(rule.op for rule in OPTIMIZERS.values())


class PredictedStep:
    """
    A forward function about to become a step; `wanted` says by their names which weights may be predicted, `sizes`
    gives the sizes of the predictor for weights.

    Raises `SourceError`s for what cannot be such a step, in the name of the pass `asks`.
    """

    def __init__(self, func: FuncOp, asks: str, wanted: Callable[[str], bool]):
        self.func, self.asks = func, asks
        self.step, self.forward, self.loss = begin(func)
        self.trained = trained_of(func, self.step)
        self.weights = predicted_weights(self.forward, self.trained, wanted)
        spec = func.attributes.get("train.optimizer")
        if not isinstance(spec, DictionaryAttr):
            raise refused(func, "the network names no optimizer, which updates weights by predicted gradients", asks)
        self.optimizer = spec
        if not self.weights:
            raise refused(func, "no trained weight of a matrix product or a convolution is predicted", asks)

    def backpropagated(self, sizes: Callable[[Sequence[PredictedWeight]], Shape], lr: float) -> None:
        """Make it the ordinary step, in which the predictor learns the gradients."""
        step = self.step
        backward(self.func, step, self.forward, self.loss)
        weights = [one for one in self.weights if one.param in step.gradients]
        made = {op: number for number, op in enumerate(step.appended)}
        gradients: dict[SSAValue, SSAValue] = {one.param: step.gradients[one.param] for one in weights}
        # its own backward pass goes over them in the order in which the network's makes the gradients
        weights.sort(key=lambda one: made.get(_owner(gradients[one.param]), -1), reverse=True)
        own = predictor(weights, sizes(weights), gradients, lr)
        differentiate(own.func)
        self._optimize()
        count_step(step)
        guests = self._inline(own)
        anchors = {one.layer: [_owner(gradients[one.param])] for one in weights}
        self._finish(guests, lambda op: anchors.get(layer_of(op), ()))

    def predicted(self, sizes: Callable[[Sequence[PredictedWeight]], Shape], lr: float) -> None:
        """Make it a step without a backward pass, each weight updated by its predicted gradient behind its layer."""
        own = predictor(self.weights, sizes(self.weights), None, lr)
        outputs = list(_owner_of_results(own.func).operands)
        guests = self._inline(own)
        self.step.gradients.update(zip((one.param for one in self.weights), outputs, strict=True))
        self._update_by_predictions(guests)

    def given(self) -> None:
        """Make it a step without a backward pass whose gradients are inputs, so that they cost nothing."""
        for one in self.weights:
            name = f"{one.name}.gradient"
            self.step.args.append(loose_argument(one.param.type, one.param.location, name))
            self.step.arg_attrs.append(DictionaryAttr({"train.input": StringAttr(name)}))
            self.step.gradients[one.param] = self.step.args[-1]
        self._update_by_predictions([])

    def _update_by_predictions(self, guests: Sequence[Operation]) -> None:
        self._optimize()
        count_step(self.step)
        readers = _last_readers(self.forward, [one.param for one in self.weights])
        layers: dict[SSAValue, list[Operation]] = {
            one.param: [_owner(one.output), *readers.get(one.param, ())] for one in self.weights
        }
        updates = [op for op in self.step.appended if op not in set(guests)]

        def after(op: Operation) -> Sequence[Operation]:
            return layers[op.operands[0]] if isinstance(op, UPDATES) else ()

        self._finish([*guests, *updates], after)

    def _optimize(self) -> None:
        self.func.attributes.pop("train.optimizer")
        optimize(self.step, self.func, self.optimizer, self.trained)

    def _inline(self, own: PredictorFunction) -> list[Operation]:
        """Append a predictor's operations, arguments and results to the step: its operations."""
        block, func, step = own.func.body.block, own.func, self.step
        known = {argument.name for argument in arguments_of(self.func)}
        numbers: dict[int, int] = {}
        values = iter(own.inputs)
        attrs = list(func.arg_attrs.data) if func.arg_attrs is not None else []
        for argument in arguments_of(func):
            value = block.args[argument.index]
            if argument.kind is ArgumentKind.INPUT:
                value.replace_all_uses_with(next(values))
                continue
            name = argument.name if argument.name.startswith(NAME) else f"{NAME}.{argument.name}"
            if name in known:
                raise refused(self.func, f"found an argument '{name}', the name of one of the predictor's", self.asks)
            numbers[argument.index] = len(step.args)
            step.args.append(value)
            step.arg_attrs.append(_renamed(attrs[argument.index], argument.name, name))
        ending = _owner_of_results(func)
        ops = [op for op in block.ops if op is not ending]
        results = [(one, ending.operands[one.index]) for one in results_of(func)]
        ending.detach()
        ending.erase()
        for op in ops:
            op.detach()
            step.append(op)
        for result, value in results:
            if result.loss:
                step.results.append((value, {"train.output": StringAttr(LOSS)}))
            elif result.updates is not None:
                step.results.append((value, {"train.updates": IntegerAttr(numbers[result.updates], i64)}))
        return ops

    def _finish(self, guests: Sequence[Operation], after: Callable[[Operation], Sequence[Operation]]) -> None:
        own = set(guests)

        def order(forward: Sequence[Operation], appended: Sequence[Operation]) -> list[Operation]:
            host = [*forward, *(op for op in appended if op not in own)]
            return placed(host, [op for op in guests if op in set(appended)], after)

        finish(self.func, self.step, self.forward, self.loss, order)


def _owner_of_results(func: FuncOp) -> ReturnOp:
    ending = func.body.block.last_op
    assert isinstance(ending, ReturnOp)
    return ending


def _owner(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def _renamed(entry: DictionaryAttr, old: str, new: str) -> DictionaryAttr:
    """The attributes of an argument under another name."""
    found: dict[str, Attribute] = dict(entry.data)
    return DictionaryAttr({key: StringAttr(new) if one == StringAttr(old) else one for key, one in found.items()})


def _last_readers(forward: Sequence[Operation], values: Sequence[SSAValue]) -> Mapping[SSAValue, list[Operation]]:
    """The last operation that reads each value."""
    return {value: [op] for op in forward for value in op.operands if value in set(values)}
