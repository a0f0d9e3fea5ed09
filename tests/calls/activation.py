"""Random calls of the activation functions."""

from tests.calls import Draw
from tests.calls.draw import unary

CALLS: dict[str, Draw] = {
    "relu": unary("relu"),
    "relu6": unary("relu6", range=(-2.0, 8.0)),
    "clip": unary("clip", low=-0.4, high=0.6),
    "gelu": unary("gelu", range=(-3.0, 3.0)),
    "gelu tanh": unary("gelu", approximate="tanh", range=(-3.0, 3.0)),
}
