"""The sample `yolo_v2_tiny` with few channels at small images, cell by cell as the loss is defined."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._boxes import corners, iou
from tests.steps import Task

_CLASSES, _CELLS = 3, 3
_ANCHORS = torch.tensor([[1.0, 2.0], [2.5, 1.5]], dtype=torch.float64)
_KINDS = [[[[-1, 0, -1], [2, -1, -1], [-1, -1, 1]], [[-1] * 3, [-1, 1, -1], [0, -1, -1]]]]
_KINDS += [[[[-1] * 3, [-1] * 3, [-1, 2, 0]], [[1, -1, -1], [-1] * 3, [-1] * 3]]]


def _layer(w: Weights, name: str, x: Tensor) -> Tensor:
    return F.leaky_relu(w.batch_norm(f"{name}.bn", w.conv2d(f"{name}.conv", x, padding=1)), 0.1)


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = x["x"]
    for number in range(5):
        h = F.max_pool2d(_layer(w, f"{number}.layer", h), 2)
    h = F.max_pool2d(F.pad(_layer(w, "layer6", h), [0, 1, 0, 1], value=-torch.inf), 2, stride=1)
    outputs = w.conv2d("conv9", _layer(w, "layer8", _layer(w, "layer7", h)))
    loss = outputs.new_zeros(())
    for image, anchor, row, column in torch.cartesian_prod(*(torch.arange(n) for n in (2, 2, _CELLS, _CELLS))):
        start = int(anchor) * (5 + _CLASSES)
        found = outputs[image, start : start + 5 + _CLASSES, row, column]
        true, kind = x["boxes"][image, anchor, row, column], x["kinds"][image, anchor, row, column]
        centre, sure = torch.sigmoid(found[:2]), torch.sigmoid(found[4])
        if kind < 0:
            loss = loss + 0.5 * sure**2
            continue
        box = corners(centre, found[2:4].exp() * _ANCHORS[anchor])
        wanted = iou(box, corners(true[:2], true[2:].exp() * _ANCHORS[anchor])).detach()
        squares = (centre - true[:2]).square().sum() + (found[2:4] - true[2:]).square().sum()
        loss = loss + 0.5 * (squares + 5 * (sure - wanted) ** 2) - F.log_softmax(found[5:], 0)[kind]
    return loss / 2


NETWORK = Network(
    Task(
        "samples:yolo_v2_tiny",
        defines={"batch": 2, "image": 96, "classes": _CLASSES, "hidden": 12, "anchors": [1.0, 2.0, 2.5, 1.5]},
        inputs={"kinds": _KINDS},
        changes={"[16, 32, 64, 128, 256]": "[4, 4, 6, 6, 8]", "layer(pool, 512)": "layer(pool, 10)"}
        | {"layer(pool6, 1024)": "layer(pool6, 12)"},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.001, momentum=0.9, weight_decay=5e-4),
)
