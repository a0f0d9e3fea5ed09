"""
The table of layers in the language reference, made from the layer functions themselves.

    python -m npuc.frontends.dsl.reference docs/language.md      writes the table between its markers
"""

import inspect
import sys
from pathlib import Path

from npuc.compiler.layers import get_functions, get_losses
from npuc.compiler.layers.optimizer import OPTIMIZERS
from npuc.frontends.dsl.binding import signature_of

BEGIN, END = "<!-- layers -->", "<!-- end of layers -->"


def layer_table() -> str:
    """The layers, losses and optimizers with their signatures and first lines, as a Markdown table."""
    losses = get_losses()
    rows = ["| layer | what it computes |", "|---|---|"]
    for is_loss in (False, True):
        for name, function in get_functions().items():
            if (name in losses) == is_loss:
                rows.append(
                    f"| `{signature_of(function).text}` | {_summary(function)}{' *Loss.*' if is_loss else ''} |"
                )
    for name, rule in OPTIMIZERS.items():
        options = ", ".join(n if default is None else f"{n}={default!r}" for n, default in rule.defaults.items())
        rows.append(f"| `{name}({options})` | *Optimizer.* |")
    return "\n".join(rows)


def _summary(function: object) -> str:
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def with_table(text: str) -> str:
    """A document with the table between its markers renewed."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{layer_table()}\n{END}{after}"


def main(path: str) -> None:
    """Renew the table in a file."""
    file = Path(path)
    file.write_text(with_table(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
