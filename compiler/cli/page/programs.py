"""The text of a program layer by layer."""

from __future__ import annotations

import io

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from npuc.dialects.provenance import layer_of


def texts_of_layers(module: ModuleOp) -> dict[str, str]:
    """
    The operations of each layer as text, by its name, in program order.

    A value has one name in all of them: that which it has in the text of the whole program.
    """
    found: dict[str, list[str]] = {}
    for func in module.ops:
        if isinstance(func, FuncOp) and not func.is_declaration:
            _add_texts(func, found)
    return {layer: "\n".join(texts) for layer, texts in found.items() if layer}


def _add_texts(func: FuncOp, found: dict[str, list[str]]) -> None:
    text = io.StringIO()
    printer = Printer(text)
    printer.enter_scope()
    block = func.body.block
    for argument in block.args:
        printer.print_ssa_value(argument)
    for op in block.ops:
        text.seek(0)
        text.truncate()
        printer.print_op(op)
        found.setdefault(layer_of(op), []).append(text.getvalue())
