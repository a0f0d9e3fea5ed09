"""The cost of collectives on the network between devices: placement of a mesh, bytes, time and energy."""
