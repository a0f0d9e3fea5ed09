"""Training of the learned mapper of `fuse-layers`: networks of its own, exact prices of the backend `cycle`."""
