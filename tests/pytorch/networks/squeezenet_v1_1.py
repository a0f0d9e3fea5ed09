"""The sample `squeezenet` in its later version."""

from tests.pytorch.networks.squeezenet import network

NETWORK = network("v1_1")
