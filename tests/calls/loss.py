"""Random calls of the losses."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.calls import Call, Draw
from tests.calls.draw import sizes, vectors

REDUCTIONS = ("mean", "sum")


def _reduction(data: st.DataObject, *more: str) -> dict[str, Any]:
    return {"reduction": data.draw(st.sampled_from((*REDUCTIONS, *more)))}


def _cross_entropy(data: st.DataObject) -> Call:
    x = vectors(data)
    smoothing = {"label_smoothing": data.draw(st.sampled_from([0.0, 0.1, 0.75, 1.0]))}
    return Call("cross_entropy", {"logits": x}, smoothing | _reduction(data), indices={"labels": (x[:-1], x[-1])})


def _nll_loss(data: st.DataObject) -> Call:
    x = (*sizes(data, *[(1, 3)] * data.draw(st.integers(1, 3))), data.draw(st.integers(1, 4)))
    return Call("nll_loss", {"log_probs": x}, _reduction(data), indices={"labels": (x[:-1], x[-1])})


def _ignoring(function: str, operand: str) -> Draw:
    """With so many rows that they are not all ignored, of whose mean there is no derivative."""

    def draw(data: st.DataObject) -> Call:
        x = sizes(data, (5, 6), (4, 5), (3, 4))
        arguments = {"ignore_index": data.draw(st.integers(-1, x[-1]))} | _reduction(data)
        if function == "cross_entropy":
            arguments["label_smoothing"] = data.draw(st.sampled_from([0.0, 0.2]))
        return Call(function, {operand: x}, arguments, indices={"labels": (x[:-1], x[-1])})

    return draw


def _pair(
    function: str,
    more: Callable[[st.DataObject], dict[str, Any]] = _reduction,
    *,
    names: tuple[str, str] = ("x", "target"),
    **ranges: tuple[float, float],
) -> Draw:
    def draw(data: st.DataObject) -> Call:
        shape = sizes(data, *[(1, 4)] * data.draw(st.integers(1, 4)))
        return Call(function, dict.fromkeys(names, shape), more(data), ranges=ranges)

    return draw


def _thresholds(name: str, *values: float) -> Callable[[st.DataObject], dict[str, Any]]:
    """Within and beyond the differences of two values between -1 and 1, which are multiples of 0.99 / elements."""
    return lambda data: {name: data.draw(st.sampled_from(values))} | _reduction(data)


def _logits(data: st.DataObject) -> dict[str, Any]:
    return {"pos_weight": data.draw(st.sampled_from([None, 0.0, 1.0, 0.3, 5.0]))} | _reduction(data)


PROBABILITY = (0.02, 0.98)

CALLS: dict[str, Draw] = {
    "cross_entropy": _cross_entropy,
    "cross_entropy ignoring": _ignoring("cross_entropy", "logits"),
    "nll_loss": _nll_loss,
    "nll_loss ignoring": _ignoring("nll_loss", "log_probs"),
    "mse": _pair("mse", names=("y", "target")),
    "dot_loss": _pair("dot_loss", lambda data: {}, names=("y", "target")),
    "l1_loss": _pair("l1_loss", target=(-1.1, 1.3)),
    "smooth_l1_loss": _pair("smooth_l1_loss", _thresholds("beta", 1.0, 0.4321, 0.05, 0.0, 9.0), target=(-1.1, 1.3)),
    "huber_loss": _pair("huber_loss", _thresholds("delta", 1.0, 0.4321, 0.05, 9.0), target=(-1.1, 1.3)),
    "binary_cross_entropy": _pair("binary_cross_entropy", x=PROBABILITY, target=(0.0, 1.0)),
    "binary_cross_entropy_with_logits": _pair("binary_cross_entropy_with_logits", _logits, x=(-9.0, 9.0)),
    "kl_div": _pair("kl_div", lambda data: _reduction(data, "batchmean"), x=(-3.0, 0.0), target=PROBABILITY),
    "kl_div log_target": _pair(
        "kl_div", lambda data: {"log_target": True} | _reduction(data, "batchmean"), x=(-3.0, 0.0), target=(-3.0, 0.0)
    ),
}
