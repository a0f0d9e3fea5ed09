"""The loss and the optimizer: those that a model was compiled with, else by what its outputs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.training import Wanted

if TYPE_CHECKING:
    from npuc.frontends.base import Request
    from npuc.frontends.dsl.syntax import Name
    from npuc.frontends.keras.model import KerasModel
    from npuc.frontends.script.script import Script

_ENTROPY = ("categorical_crossentropy", "sparse_categorical_crossentropy")
_LOSSES = {
    **{"mean_squared_error": "mse", "mse": "mse", "mean_absolute_error": "l1_loss", "mae": "l1_loss"},
    **{"binary_crossentropy": "binary_cross_entropy", "huber": "huber_loss", "huber_loss": "huber_loss"},
}
_OPTIMIZERS: Mapping[str, tuple[str, Mapping[str, str], Mapping[str, float]]] = {
    "sgd": ("sgd", {"learning_rate": "lr", "momentum": "momentum"}, {"lr": 0.01}),
    "adam": ("adam", {"learning_rate": "lr", "beta_1": "beta1", "beta_2": "beta2", "epsilon": "eps"}, {"eps": 1e-7}),
    "adamw": (
        "adamw",
        {"learning_rate": "lr", "beta_1": "beta1", "beta_2": "beta2", "epsilon": "eps", "weight_decay": "weight_decay"},
        {"eps": 1e-7, "weight_decay": 0.004},
    ),
    "rmsprop": ("rmsprop", {"learning_rate": "lr", "rho": "alpha", "epsilon": "eps"}, {"lr": 1e-3, "alpha": 0.9}),
    "adagrad": ("adagrad", {"learning_rate": "lr", "epsilon": "eps"}, {"lr": 1e-3, "eps": 1e-7}),
    "adadelta": ("adadelta", {"learning_rate": "lr", "rho": "rho", "epsilon": "eps"}, {"lr": 1e-3, "rho": 0.95}),
    "nadam": ("nadam", {"learning_rate": "lr", "beta_1": "beta1", "beta_2": "beta2"}, {"lr": 1e-3}),
    "adamax": ("adamax", {"learning_rate": "lr", "beta_1": "beta1", "beta_2": "beta2"}, {"lr": 1e-3}),
}
"""Keras's optimizers: the language's, its options by Keras's, and Keras's defaults where they are others."""


def outputs_and_wishes(
    script: Script, model: KerasModel, outputs: Mapping[str, KerasValue], request: Request
) -> tuple[dict[str, Name], Wanted, list[str]]:
    """
    The outputs as variables, what makes a step of them, and remarks.

    A softmax that a cross entropy compares is a part of it, as TensorFlow's: the output is what it is made of.
    """
    remarks: list[str] = []
    losses, optimizer = request.losses, request.optimizer
    chosen = [name for name in outputs if not request.results or name in request.results]
    if script.training and not losses:
        losses = _compiled(model, [outputs[name] for name in chosen]) or _by_rule(script, [outputs[n] for n in chosen])
        if losses:
            said = ", ".join(f"{loss} of {name}" for loss, name in zip(losses, chosen, strict=True))
            remarks.append(f"the loss is {said}; --loss chooses another")
    if script.training and optimizer is None:
        optimizer = _optimizer(model)
    calls = [loss for loss in losses if not _names_output(loss, outputs)]
    entropy = dict(zip(chosen, (c.partition("(")[0].strip() == "cross_entropy" for c in calls), strict=False))
    if script.training and not losses:
        entropy = dict.fromkeys(chosen, True)
    named: dict[str, Name] = {}
    for number, (name, value) in enumerate(outputs.items()):
        logits = value.softmax_of if script.training and entropy.get(name) else None
        named[name] = _ordered(script, value if logits is None else logits, name, number)
    return named, Wanted(request.results, losses, optimizer), remarks


def _names_output(loss: str, outputs: Mapping[str, KerasValue]) -> bool:
    return loss.startswith("output:") or loss in outputs


def _ordered(script: Script, value: KerasValue, name: str, number: int) -> Name:
    """An output in Keras's order of axes."""
    if not value.first:
        return value.name
    rank = len(script.shape(value.name))
    return script.let(f"{name}.output", "transpose", value.name, [0, *range(2, rank), 1])


def _by_rule(script: Script, values: Sequence[KerasValue]) -> tuple[str, ...]:
    """The loss of a single output by its activation: binary cross entropy of a sigmoid, mse of one number."""
    if len(values) != 1:
        return ()
    (value,) = values
    shape = script.shape(value.name)
    if value.is_sigmoid:
        return ("binary_cross_entropy",)
    return ("mse",) if len(shape) in (2, 3) and shape[-1] == 1 else ()


def _compiled(model: KerasModel, values: Sequence[KerasValue]) -> tuple[str, ...]:
    """The losses that a model was compiled with, one for each output; none where one has no counterpart."""
    said = model.compiled.get("loss")
    listed = list(said.values()) if isinstance(said, Mapping) and "class_name" not in said else said
    losses = listed if isinstance(listed, list) else [listed] * len(values)
    if len(losses) != len(values):
        return ()
    found = [_loss(loss, value) for loss, value in zip(losses, values, strict=True)]
    return tuple(one for one in found if one is not None) if None not in found else ()


def _loss(said: object, value: KerasValue) -> str | None:
    name, config = _named(said)
    if name in _ENTROPY:
        return "cross_entropy" if value.softmax_of is not None or config.get("from_logits") is True else None
    if name == "binary_crossentropy" and config.get("from_logits") is True:
        return "binary_cross_entropy_with_logits"
    return _LOSSES.get(name)


def _named(said: object) -> tuple[str, Mapping[str, object]]:
    """The name of a loss or an optimizer as `compile` takes it, in small letters, and its options."""
    if isinstance(said, str):
        return _snake(said), {}
    if isinstance(said, Mapping):
        known = cast("Mapping[str, object]", said)
        name, config = known.get("class_name"), known.get("config")
        if name == "function" and isinstance(config, str):
            return _snake(config), {}
        if isinstance(name, str):
            return _snake(name), cast("Mapping[str, object]", config) if isinstance(config, Mapping) else {}
    return "", {}


def _snake(name: str) -> str:
    """`BinaryCrossentropy` is binary_crossentropy, `Adam` adam."""
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).strip("_")
    return {"a_d_a_m": "adam", "s_g_d": "sgd", "r_m_sprop": "rmsprop", "adam_w": "adamw"}.get(words, words)


def _optimizer(model: KerasModel) -> str | None:
    """The optimizer that a model was compiled with; None where there is none that the language has."""
    name, config = _named(model.compiled.get("optimizer"))
    if name not in _OPTIMIZERS:
        return None
    function, options, defaults = _OPTIMIZERS[name]
    given = {
        own: float(value)
        for keras, own in options.items()
        if isinstance(value := config.get(keras), int | float) and not isinstance(value, bool)
    }
    extra = {"nesterov": "true"} if config.get("nesterov") is True and name == "sgd" else {}
    extra |= {"amsgrad": "true"} if config.get("amsgrad") is True and name in ("adam", "adamw") else {}
    whole = {**defaults, **given}
    said = {**{own: repr(whole[own]) for own in options.values() if own in whole}, **extra}
    return f"{function}({', '.join(f'{k}={v}' for k, v in said.items())})"
