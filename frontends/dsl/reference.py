"""
The tables of layers in the language reference, made from the layer functions and blocks themselves.

    python -m npuc.frontends.dsl.reference docs/language.md      writes the tables between their markers
"""

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from npuc.compiler.layers import Function, get_functions, get_losses
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.frontends.dsl.binding import signature_of
from npuc.frontends.dsl.blocks import Described, described
from npuc.frontends.dsl.values import literal_text

BEGIN, END = "<!-- layers -->", "<!-- end of layers -->"
LOSSES, OPTIMIZER_FAMILY, OTHERS = "Losses", "Optimizers", "Other layers"

FAMILIES: Mapping[str, Sequence[str]] = {
    "Linear layers and products": ("matmul", "einsum", "grouped", "embedding"),
    "Convolution": ("conv", "conv_transpose"),
    "Pooling and resizing": ("pool", "pool1d", "pool3d", "adaptive_pool", "upsample", "roi_align", "grid_sample"),
    "Normalisation": ("norm", "layer_norm", "group_norm", "rms_norm", "local_response_norm"),
    "Activations": ("activation", "smooth", "composed_activations", "softmax", "dropout"),
    "Arithmetic and functions": ("arithmetic", "pointwise", "transcendental", "pairs", "stepwise", "bitwise"),
    "Comparison and choice": ("compare",),
    "Reductions": ("reduction", "composed_reductions", "extreme", "vector_norm", "running"),
    "Shape and order": (
        "shape",
        "composed_shapes",
        "join",
        "box",
        "order",
        "index",
        "indexing",
        "scatter",
        "sort",
        "selection",
    ),
    "Constants": ("constant",),
    OTHERS: (),
    "Attention": ("attention", "position"),
    "Recurrent layers": ("recurrent",),
    "Blocks for vision and recommendation": ("vision", "recommendation"),
    LOSSES: (),
    OPTIMIZER_FAMILY: (),
    "Operators known by their cost alone": ("opaque",),
}
"""The families of the reference in order, each with its modules of layers and files of the library."""


def layer_table() -> str:
    """The layers, blocks, losses and optimizers with signatures and summaries: a heading and a Markdown table each."""
    rows: dict[str, list[tuple[str, str]]] = {family: [] for family in FAMILIES}
    family_of = {part: family for family, parts in FAMILIES.items() for part in parts}
    losses = get_losses()
    for name, function in get_functions().items():
        module = function.__module__.rpartition(".")[2]
        family = LOSSES if name in losses else family_of.get(module, OTHERS)
        rows[family].append((signature_of(function).text, summary(function)))
    for file, blocks in described().items():
        rows[family_of[file]] += [(block.signature, block.comment) for block in blocks]
    rows[OPTIMIZER_FAMILY] = [(signature, "") for signature in optimizer_signatures()]
    return "\n\n".join(_table(family, entries) for family, entries in rows.items() if entries)


def _table(family: str, entries: Sequence[tuple[str, str]]) -> str:
    head = ["| optimizer |", "|---|"] if family == OPTIMIZER_FAMILY else ["| layer | what it computes |", "|---|---|"]
    lines = [f"| `{signature}` | {_cell(text)} |" if text else f"| `{signature}` |" for signature, text in entries]
    return "\n".join([f"### {family}", "", *head, *lines])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def optimizer_signatures() -> Iterator[str]:
    """The optimizers with their options."""
    yield from map(optimizer_signature, OPTIMIZERS)


def optimizer_signature(name: str) -> str:
    """An optimizer with its options: `sgd(lr, momentum=0.0)`."""
    options = ", ".join(
        option if default is None else f"{option}={literal_text(default)}"
        for option, default in OPTIMIZERS[name].defaults.items()
    )
    return f"{name}({options})"


def summary(function: Function) -> str:
    """The first paragraph of a layer function's documentation, in one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def first_sentence(block: Described) -> str:
    """The first sentence of a block's comment, without its arguments."""
    return block.comment.partition(". ")[0].removesuffix(".") + "."


def with_table(text: str) -> str:
    """A document with the tables between their markers renewed."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{layer_table()}\n\n{END}{after}"


def main(path: str) -> None:
    """Renew the tables in a file."""
    file = Path(path)
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
