"""
PyTorch as judge: the same computations by torch.nn.functional and torch.autograd; needs the optional group `torch`.

One file a family holds PyTorch's counterparts of the language functions in `TORCH`.
"""
