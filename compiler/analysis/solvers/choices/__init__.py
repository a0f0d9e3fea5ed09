"""The choice of a label for every node of a graph that costs least, where costs are of single nodes and of pairs."""
