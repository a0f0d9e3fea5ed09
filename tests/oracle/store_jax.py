"""
What JAX exports of a step and of a forward function, kept as text for the documentation and for tests.

    python -m tests.oracle.store_jax       writes them anew; needs the optional group jax, and optax
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "jax"
_PACKAGES = re.compile(r'"[^"\n]*/site-packages/')
_HERE = re.compile(r'"[^"\n]*/(tests/[^"\n]*)"')


def written() -> dict[str, str]:
    """The texts by file name, without the folders of this machine."""
    import optax

    from tests.jax_programs import convnet, mlp, text_of
    from tests.jax_random import example

    net = convnet()
    texts = {
        "mlp_step.mlir": text_of(*mlp().step(optax.sgd(0.1, momentum=0.9))),
        "step.mlir": text_of(*net.step(optax.sgd(0.1, momentum=0.9))),
        "dropout_step.mlir": text_of(*example()),
        "model.mlir": text_of(net.forward, (net.params, net.data[0])),
    }
    return {name: _HERE.sub(r'"\1"', _PACKAGES.sub('"', text)) for name, text in texts.items()}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in written().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
