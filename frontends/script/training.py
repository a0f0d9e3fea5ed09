"""
From the outputs of a graph to a training step: the losses, their labels, the optimizer.

Graphs of other tools end in outputs. What a user does not ask for is chosen by rule and said in a remark: the loss is
an output that is a scalar; else the cross entropy over the last axis of an output of rank 2 or 3; else the mean squared
error. The optimizer is `sgd(lr=0.01)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.core.errors import SourceError, SourceErrors, UsageError, did_you_mean
from npuc.compiler.layers import get_functions, get_losses
from npuc.frontends.dsl.binding import signature_of
from npuc.frontends.dsl.syntax import Call, Literal, Name, Unary
from npuc.frontends.script.needed import leave_out_idle
from npuc.frontends.script.requests import loss_call, optimizer_call, refusal, with_operands
from npuc.frontends.script.script import Script

DEFAULT_OPTIMIZER = "sgd(lr=0.01)"
LABELS = "y"
"""The name of the labels of the first loss; those of the next ones are y2, y3, …"""
_FLOATS = ("f32", "f64", "f16", "bf16")
_OUTPUT = "output:"


@dataclass(frozen=True)
class Wanted:
    """What a user asks for: results by name (none: all), losses and the optimizer as texts (none: by rule)."""

    results: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    optimizer: str | None = None


def complete(script: Script, outputs: Mapping[str, Name], wanted: Wanted) -> list[str]:
    """
    Write the outputs, and for training the losses and the optimizer; remarks on what was chosen by rule.

    Raises `UsageError` for names that the graph has not, and for losses and optimizers that do not fit.
    """
    chosen = _chosen(outputs, wanted.results)
    if not script.training:
        for name, value in chosen.items():
            script.add_output(name, value)
        return []
    remarks: list[str] = []
    predictions = _add_losses(script, outputs, chosen, wanted.losses, remarks)
    shown = {name: value for name, value in chosen.items() if name in (wanted.results or predictions)}
    for name, value in shown.items():
        script.add_output(name, value)
    text = wanted.optimizer or DEFAULT_OPTIMIZER
    try:
        script.set_optimizer(optimizer_call(text))
    except (SourceError, SourceErrors) as error:
        raise refusal("optimizer", text, error) from None
    leave_out_idle(script)
    return remarks


def _chosen(outputs: Mapping[str, Name], results: Sequence[str]) -> Mapping[str, Name]:
    """The outputs that are asked for."""
    for name in results:
        if name not in outputs:
            known = ", ".join(outputs)
            raise UsageError(
                f"--result {name}: the graph has no such output",
                hint=did_you_mean(name, list(outputs)) or f"outputs of the graph: {known}",
            )
    return {name: outputs[name] for name in results} if results else outputs


def _add_losses(
    script: Script,
    outputs: Mapping[str, Name],
    chosen: Mapping[str, Name],
    losses: Sequence[str],
    remarks: list[str],
) -> list[str]:
    """Write the losses; the names of the outputs that they compare with labels."""
    floats = {name: value for name, value in chosen.items() if script.element(value) in _FLOATS}
    if not losses:
        return _loss_by_rule(script, floats, remarks)
    compared: list[str] = []
    named = [_output_named(text, outputs) for text in losses]
    calls = [text for text, output in zip(losses, named, strict=True) if output is None]
    floats = {name: value for name, value in floats.items() if value not in named}
    for text, output in zip(losses, named, strict=True):
        if output is None:
            compared.append(_operand(list(floats), calls, len(compared)))
            _add_call(script, floats[compared[-1]], text)
        else:
            _add_scalar(script, text, output)
    return compared


def _output_named(text: str, outputs: Mapping[str, Name]) -> Name | None:
    """The output that a loss names: `output:NAME`, or an output's name where no loss is called so."""
    if text.startswith(_OUTPUT):
        return next(iter(_chosen(outputs, [text.removeprefix(_OUTPUT)]).values()))
    return outputs.get(text) if text not in get_losses() else None


def _operand(floats: Sequence[str], calls: Sequence[str], number: int) -> str:
    """The output that a loss compares with labels: the only one, or each loss its own."""
    if len(floats) == 1:
        return floats[0]
    if floats and len(floats) == len(calls):
        return floats[number]
    found = f"outputs of real numbers: {', '.join(floats)}" if floats else "no output of real numbers"
    raise UsageError(
        f"--loss {calls[number]}: found {found}, expected one, or one for each loss", hint="--result NAME chooses"
    )


def _loss_by_rule(script: Script, floats: Mapping[str, Name], remarks: list[str]) -> list[str]:
    """Write the loss that nobody asked for."""
    scalars = [name for name, value in floats.items() if not script.shape(value)]
    if len(scalars) == 1:
        (name,) = scalars
        script.add_loss(floats[name])
        remarks.append(f"the loss is output '{name}'; --loss chooses another")
        return []
    if len(floats) != 1:
        found = f"the outputs {', '.join(floats)}" if floats else "no output of real numbers"
        hint = "--result NAME chooses one, --loss output:NAME is one that is a loss" if floats else "--inference"
        raise UsageError(f"cannot tell the loss: found {found}, expected one", hint=hint)
    (name, value), *_ = floats.items()
    function = "cross_entropy" if len(script.shape(value)) in (2, 3) else "mse"
    labels = _add_call(script, value, function)
    remarks.append(f"the loss is {function}({name}, {labels.text}); --loss chooses another")
    return [name]


def _add_scalar(script: Script, text: str, output: Name) -> None:
    try:
        script.add_loss(output)
    except (SourceError, SourceErrors) as error:
        raise refusal("loss", text, error) from None


def _add_call(script: Script, value: Name, text: str) -> Name:
    """Write a loss that compares a value with labels of its own; the labels."""
    call = loss_call(text)
    if call.function not in get_losses():
        hint = did_you_mean(call.function, sorted(get_losses())) or f"losses: {', '.join(sorted(get_losses()))}"
        raise UsageError(f"--loss {text}: found no loss and no output '{call.function}'", hint=hint)
    try:
        labels = _labels(script, value, call)
        script.add_loss(with_operands(call, value, labels))
    except (SourceError, SourceErrors) as error:
        raise refusal("loss", text, error) from None
    return labels


def _labels(script: Script, value: Name, call: Call) -> Name:
    """The labels of a loss: classes by number, or targets like the value."""
    number = len(script.labels) + 1
    name = LABELS if number == 1 else f"{LABELS}{number}"
    shape = list(script.shape(value))
    if signature_of(get_functions()[call.function]).formals[1].name != "labels":
        labels = script.input(name, script.element(value), shape)
    else:
        axis = _axis(call)
        classes = axis + len(shape) if axis < 0 else axis
        labels = script.input(name, "i32", [s for i, s in enumerate(shape) if i != classes], labels=True)
    script.labels.append(labels.text)
    return labels


def _axis(call: Call) -> int:
    """The axis of classes that a call names, by default the last."""
    value = next((a.value for a in call.arguments if a.name == "axis"), None)
    match value:
        case Literal(value=int() as axis):
            return axis
        case Unary(operator="-", operand=Literal(value=int() as axis)):
            return -axis
        case _:
            return -1
