"""What can be shared: layers, values, and the ways in which each task can be cut."""
