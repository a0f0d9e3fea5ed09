"""What is shown of a run: its losses as a line, and its arrays in a few words each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuc.compiler.core.display.shown import Shown, ShownTable
from npuc.compiler.core.display.svg import curves
from npuc.compiler.layers.base import Array


def shown_run(
    losses: Sequence[float],
    accuracies: Sequence[float],
    arrays: Mapping[str, Mapping[str, Array]],
    facts: Mapping[str, str | None],
) -> Shown:
    """What is shown of the steps of a run: `arrays` are its values by kind and name, `facts` what else is known."""
    rows = [(kind, name, array) for kind, found in arrays.items() for name, array in found.items()]
    steps = [f"{len(losses):,} step{'s' * (len(losses) != 1)}, loss {losses[-1]:.6g}"] if losses else []
    right = [f"accuracy {accuracies[-1]:.1%}"] if accuracies else []
    cells = ((kind, name, about_array(array)) for kind, name, array in rows)
    return Shown(
        "Run",
        "",
        ", ".join([*steps, *right, f"{len(rows):,} arrays"]),
        tuple((name, text) for name, text in facts.items() if text),
        curves([losses], "step", "loss"),
        ShownTable(("kind", "name", "values"), cells, len(rows), 3, "arrays"),
    )


def about_array(array: Array) -> str:
    """An array in a few words: a single number, else type, shape and range."""
    if not array.shape:
        return f"{array.item():.6g}"
    shape = f"{array.dtype} {' x '.join(map(str, array.shape))}"
    return f"{shape}, {array.min():.4g} to {array.max():.4g}" if array.size and array.dtype.kind in "fiu" else shape
