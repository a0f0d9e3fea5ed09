"""
Writes what PyTorch computes of whole networks, for the tests where it is not installed.

    python -m tests.pytorch.store_networks
"""

import json
from collections.abc import Mapping
from typing import Any

import torch

from npuc.compiler.layers.base import Array
from tests.pytorch.judge import judge_steps
from tests.pytorch.networks import Network, networks
from tests.steps import FILE, marks, run_steps


def _rounded(arrays: Mapping[str, Array]) -> dict[str, list[float]]:
    """Ten digits of the marks, a hundredth of what the tests allow."""
    return {name: [float(f"{number:.10g}") for number in array] for name, array in marks(arrays).items()}


def stored(network: Network) -> dict[str, Any]:
    """A network, its losses, and marks: for each parameter of its gradient and of its change, for each statistic."""
    theirs = judge_steps(network, run_steps(network.task))
    gradients, changes = _rounded(theirs.gradients), _rounded(theirs.changes)
    assert gradients.keys() == changes.keys()
    return {
        "task": network.task.to_json(),
        "losses": theirs.losses,
        "params": {name: gradients[name] + changes[name] for name in gradients},
        "stats": _rounded(theirs.stats),
    }


def main() -> None:
    """Renew the file, one line a network."""
    torch.set_num_threads(1)
    found = {name: stored(network) for name, network in networks().items()}
    lines = [f"{json.dumps(name)}: {json.dumps(kept, separators=(',', ':'))}" for name, kept in found.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
