"""Which layer is split how over a tree of accelerators: costs of choices, and the search for the best."""
