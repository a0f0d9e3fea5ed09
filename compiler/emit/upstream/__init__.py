"""Programs of primitives in dialects of others: `linalg/` for MLIR's own, `stablehlo/` for XLA's."""
