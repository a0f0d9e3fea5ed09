"""
PyTorch's exported programs (`torch.export.save`), read without PyTorch; nothing in a file is executed or unpickled.
`from_module` takes a module at hand, with PyTorch.

    load.py        a file as an `ExportedProgram`: archive.py is the zip, schema.py its JSON, convert.py checks it
    program.py     what an exported program says, as frozen data without any meaning
    weights.py     the values of parameters, read when a run asks for them
    expressions.py sizes that are expressions; sizes.py gives free ones their values
    translate.py   each call in order, as statements of a script
    memory/        calls that write in place, as values that change
    graphs/        calls that take graphs: blocks under a mode, branches, loops
    operators/     what each ATen operator means, a function an operator
    exporting/     a module at hand, exported by PyTorch, which decomposes what has no meaning here
"""

from typing import TYPE_CHECKING

from npuc.compiler.core.registry import lazily

if TYPE_CHECKING:
    from npuc.frontends.torch.exporting.module import from_module

__all__ = ["from_module"]

__getattr__ = lazily(
    __name__,
    {
        "exporting.module": ("from_module",),
    },
)
