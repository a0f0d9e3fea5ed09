"""The sample `yolo_v5` with few channels at small images."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks._boxes import corners, generalised_iou
from tests.steps import Task

_CLASSES, _IMAGE = 3, 64
_PIXELS = {8: [10, 13, 16, 30, 33, 23], 16: [30, 61, 62, 45, 59, 119], 32: [116, 90, 156, 198, 373, 326]}
"""The anchors of yolov5l.yaml in pixels, by the stride of their map."""
_BALANCE = {8: 4.0, 16: 1.0, 32: 0.4}


def _layer(w: Weights, name: str, x: Tensor, **options: int) -> Tensor:
    return F.silu(w.batch_norm(f"{name}.bn", w.conv2d(f"{name}.conv", x, **options), eps=1e-3, momentum=0.03))


def _c3(w: Weights, name: str, x: Tensor, repeats: int, shortcut: bool) -> Tensor:
    h = _layer(w, f"{name}.cv1", x)
    for i in range(repeats):
        inside = _layer(w, f"{name}.{i}.expand", _layer(w, f"{name}.{i}.reduce", h), padding=1)
        h = h + inside if shortcut else inside
    return _layer(w, f"{name}.cv3", torch.cat([h, _layer(w, f"{name}.cv2", x)], 1))


def _maps(w: Weights, x: Tensor) -> dict[int, Tensor]:
    h = _layer(w, "stem", x, stride=2, padding=2)
    stages: list[Tensor] = []
    for stage, repeats in enumerate((1, 2, 3, 1), start=1):
        h = _c3(w, f"stage{stage}", _layer(w, f"stage{stage}.layer", h, stride=2, padding=1), repeats, True)
        stages.append(h)
    h = _layer(w, "sppf.cv1", h)
    pools = [h, *(F.max_pool2d(h, size, stride=1, padding=size // 2) for size in (5, 9, 13))]
    narrow32 = _layer(w, "narrow32", _layer(w, "sppf.cv2", torch.cat(pools, 1)))
    wide = [F.interpolate(narrow32, scale_factor=2.0), stages[2]]
    narrow16 = _layer(w, "narrow16", _c3(w, "down16", torch.cat(wide, 1), 1, False))
    map8 = _c3(w, "map8", torch.cat([F.interpolate(narrow16, scale_factor=2.0), stages[1]], 1), 1, False)
    map16 = _c3(w, "map16", torch.cat([_layer(w, "up16", map8, stride=2, padding=1), narrow16], 1), 1, False)
    map32 = _c3(w, "map32", torch.cat([_layer(w, "up32", map16, stride=2, padding=1), narrow32], 1), 1, False)
    return {8: map8, 16: map16, 32: map32}


def _map_loss(outputs: Tensor, kinds: Tensor, boxes: Tensor, anchors: Tensor, balance: float) -> Tensor:
    """Objects are found by their places; `outputs` are [batch, anchors, 5 + classes, cells, cells]."""
    image, anchor, row, column = torch.nonzero(kinds >= 0, as_tuple=True)
    found = outputs[image, anchor, :, row, column]
    box = corners(torch.sigmoid(found[:, :2]) * 2 - 0.5, (torch.sigmoid(found[:, 2:4]) * 2) ** 2 * anchors[anchor])
    true = boxes[image, anchor, row, column]
    overlap = generalised_iou(box, corners(true[:, :2], true[:, 2:]))
    wanted = torch.zeros_like(outputs[:, :, 4])
    wanted[image, anchor, row, column] = overlap.detach().clamp(min=0)
    loss = 0.05 * (1 - overlap).sum() / max(len(image), 1)
    loss = loss + balance * F.binary_cross_entropy_with_logits(outputs[:, :, 4], wanted)
    classes = F.one_hot(kinds[image, anchor, row, column], _CLASSES).to(outputs.dtype)
    errors = F.binary_cross_entropy_with_logits(found[:, 5:], classes, reduction="sum")
    return loss + 0.5 * errors / max(classes.numel(), 1)


def _loss(w: Weights, x: Inputs) -> Tensor:
    loss = torch.zeros((), dtype=torch.float64)
    for stride, features in _maps(w, x["x"]).items():
        outputs = w.conv2d(f"found{stride}.conv", features).unflatten(1, (3, 5 + _CLASSES))
        anchors = torch.tensor(_PIXELS[stride], dtype=torch.float64).reshape(3, 2) / stride
        loss = loss + _map_loss(outputs, x[f"kinds{stride}"], x[f"boxes{stride}"], anchors, _BALANCE[stride])
    return 2 * loss


def _targets() -> dict[str, object]:
    """A few objects of positive size for each map."""
    found: dict[str, object] = {}
    for stride in _PIXELS:
        shape = (2, 3, _IMAGE // stride, _IMAGE // stride)
        numbers = torch.arange(torch.Size(shape).numel()).reshape(shape)
        found[f"kinds{stride}"] = torch.where(numbers % 5 == 2, numbers % _CLASSES, -1).tolist()
        found[f"boxes{stride}"] = (0.3 + 0.1 * ((numbers[..., None] + torch.arange(4)) % 7)).tolist()
    return found


NETWORK = Network(
    Task(
        "samples:yolo_v5",
        defines={"batch": 2, "image": _IMAGE, "classes": _CLASSES, "width": 4, "depth": 1},
        inputs=_targets(),
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.937, weight_decay=5e-4, nesterov=True),
)
