"""The sample `unet` with convolutions that keep the size."""

from tests.pytorch.networks.unet import network

NETWORK = network(32, 1)
