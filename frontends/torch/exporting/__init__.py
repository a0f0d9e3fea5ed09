"""PyTorch modules at hand, exported by PyTorch itself: the only place that imports it, and only when it is asked to."""
