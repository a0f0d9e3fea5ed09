"""The sample `gnmt`: residual connections from the encoder's third layer on."""

from tests.pytorch.networks._gnmt import gnmt

NETWORK = gnmt("standard", 1, sums_keys=False)
