"""The prototype's variant of the sample `gnmt`: they begin a layer later, and a context is a sum of keys."""

from tests.pytorch.networks._gnmt import gnmt

NETWORK = gnmt("prototype", 2, sums_keys=True)
