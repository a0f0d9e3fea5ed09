"""npuc's own IR, at any level, as text: one module a file."""

from npuc.frontends.mlir.read import check_text, make_context, parse_part, read_mlir

__all__ = ["check_text", "make_context", "parse_part", "read_mlir"]
