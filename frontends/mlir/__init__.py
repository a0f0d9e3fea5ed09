"""npuc's own IR, at any level, as text: one module a file."""

from typing import TYPE_CHECKING

from npuc.compiler.core.registry import lazily

if TYPE_CHECKING:
    from npuc.frontends.mlir.read import check_text, make_context, parse_part, read_mlir

__all__ = ["check_text", "make_context", "parse_part", "read_mlir"]

__getattr__ = lazily(
    __name__,
    {
        "read": (
            "check_text",
            "make_context",
            "parse_part",
            "read_mlir",
        ),
    },
)
