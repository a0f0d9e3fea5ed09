"""Groups of layers that run by micro-batches: which operations may, what a group costs, and which groups cost least."""
