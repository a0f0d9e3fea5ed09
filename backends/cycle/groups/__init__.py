"""Groups of operations that run by micro-batches, in the rows of the backend."""
