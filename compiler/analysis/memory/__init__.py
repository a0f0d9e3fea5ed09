"""The memory of a training step, and the savings of recomputing values."""
