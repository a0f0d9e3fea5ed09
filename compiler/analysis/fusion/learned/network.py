"""
The network of the learned mapper: two hidden layers that guess what a group costs beside its steps apart.

Its weights are in `weights.npz`, made by `python -m npuc.compiler.explore.fusion.train -o weights.npz`, which the file
names, too. They are read when the mapper first runs.
"""

import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.fusion.learned.candidates import BASE, FEATURES, Rows
from npuc.compiler.core.errors import UsageError

WEIGHTS = Path(__file__).with_name("weights.npz")
COMMAND = "python -m npuc.compiler.explore.fusion.train -o weights.npz"
HIDDEN = 32
"""The units of a hidden layer [our choice]."""
OUTPUTS = 3
"""Cycles, traffic and joules."""
SHAPES = {
    "mean": (FEATURES,),
    "scale": (FEATURES,),
    "w1": (FEATURES, HIDDEN),
    "b1": (HIDDEN,),
    "w2": (HIDDEN, HIDDEN),
    "b2": (HIDDEN,),
    "w3": (HIDDEN, OUTPUTS),
    "b3": (OUTPUTS,),
}


@dataclass(frozen=True)
class Network:
    """The weights by name, as `SHAPES` says."""

    weights: dict[str, NDArray[np.float32]]

    def hidden(self, features: Rows) -> Rows:
        """What the second hidden layer makes of descriptions of groups."""
        w = self.weights
        first = np.maximum((features - w["mean"]) / w["scale"] @ w["w1"] + w["b1"], 0)
        return np.maximum(first @ w["w2"] + w["b2"], 0)

    def guess(self, features: Rows, hidden: Rows) -> Rows:
        """
        The natural logarithms of what each group costs over what its steps cost apart: cycles, bits, joules.

        They are those of the estimate among the features, with what the network adds.
        """
        return np.asarray(features[:, BASE] + hidden @ self.weights["w3"] + self.weights["b3"], np.float32)


def read_network(path: Path) -> Network:
    """The network of a file. Raises `UsageError` where it is missing or is none."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            weights = {name: np.asarray(stored[name], dtype=np.float32) for name in SHAPES}
    except FileNotFoundError as e:
        raise UsageError(f"the weights of the learned mapper are missing: {path}", hint=f"make them: {COMMAND}") from e
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as e:
        raise _broken(path, str(e)) from e
    for name, shape in SHAPES.items():
        if weights[name].shape != shape:
            raise _broken(path, f"{name} has shape {weights[name].shape}, expected {shape}")
        if not np.isfinite(weights[name]).all():
            raise _broken(path, f"{name} has numbers that are not finite")
    return Network(weights)


def write_network(network: Network, path: Path) -> None:
    """Write a network with the command that made it."""
    arrays: dict[str, NDArray[np.generic]] = {**network.weights, "command": np.array(COMMAND)}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


@cache
def own_network() -> Network:
    """The network of the package."""
    return read_network(WEIGHTS)


def _broken(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} holds no weights of the learned mapper: {why}", hint=f"make them: {COMMAND}")
