"""Many points of a design, many mappings: searches that compile or score again and again."""
