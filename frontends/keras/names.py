"""Names of layers as the language takes them."""

import re


def plain(name: str) -> str:
    """A name without signs: `block1/conv` is block1_conv; dots are left to models in models."""
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "layer"
