"""The plan graph: the tasks of a program, the layer groups that share a choice, and the edges between them."""
