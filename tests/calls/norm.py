"""Random calls of the normalisations."""

from tests.calls import Call, Draw
from tests.calls.draw import image, sizes, unary

CALLS: dict[str, Draw] = {
    "layer_norm": unary("layer_norm"),
    "batch_norm": lambda data: Call("batch_norm", {"x": image(data)}),
    "batch_norm rows": lambda data: Call("batch_norm", {"x": sizes(data, (2, 5), (1, 3))}),
}
