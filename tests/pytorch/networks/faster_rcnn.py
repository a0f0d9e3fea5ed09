"""The sample `faster_rcnn` with few channels at small images."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.pytorch.networks.detector import roi_align
from tests.pytorch.networks.resnet50 import bottleneck
from tests.steps import Task

_CLASSES, _ANCHORS, _CELLS = 3, 2, 4
_ROIS = [[0, 2.0, 3.0, 40.0, 50.0], [1, 5.5, 1.0, 30.5, 61.5], [1, 8.0, 8.0, 61.0, 41.0], [0, 1, 1, 62, 62]]
_KINDS = [1, 0, 2, 1]
_PROPOSED = [[[[1, 0, -1, 0], [-1, 1, 0, 0], [0, -1, -1, 1], [0, 0, 1, -1]]] * _ANCHORS] * 2


def _stage(w: Weights, stage: int, x: Tensor, blocks: int) -> Tensor:
    for block in range(blocks):
        x = bottleneck(w, f"stage{stage}.{block}", x, 2 if stage > 1 and block == 0 else 1)
    return x


def _proposal_loss(w: Weights, x: Inputs, features: Tensor) -> Tensor:
    h = F.relu(w.conv2d("rpn.conv2d", features, padding=1))
    scores = w.conv2d("scores", h).unflatten(1, (2, _ANCHORS))
    boxes = w.conv2d("boxes", h).unflatten(1, (4, _ANCHORS))
    score_loss = F.cross_entropy(scores, x["proposed"], ignore_index=-1)
    objects = (x["proposed"] == 1)[:, None].expand_as(boxes)
    distance = F.smooth_l1_loss(boxes[objects], x["moves"][objects], beta=1 / 9, reduction="sum")
    return score_loss + distance / (x["proposed"] >= 0).sum()


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = F.relu(w.batch_norm("bn1", w.conv2d("conv1", x["x"], stride=2, padding=3)))
    h = F.max_pool2d(h, 3, stride=2, padding=1)
    for stage, blocks in enumerate((3, 4, 6), start=1):
        h = _stage(w, stage, h, blocks)
    crops = roi_align(h, x["rois"], (14, 14), 1 / 16, 2)
    features = _stage(w, 4, crops, 3).mean((2, 3))
    logits, boxes = w.linear("logits", features), w.linear("region_boxes", features).unflatten(1, (_CLASSES, 4))
    kinds = x["kinds"]
    chosen, wanted = boxes[torch.arange(len(kinds)), kinds], x["region_moves"]
    distance = F.smooth_l1_loss(chosen[kinds > 0], wanted[kinds > 0], reduction="sum") / len(kinds)
    return _proposal_loss(w, x, h) + F.cross_entropy(logits, kinds) + distance


NETWORK = Network(
    Task(
        "samples:faster_rcnn",
        defines={"batch": 2, "image": 16 * _CELLS, "classes": _CLASSES, "anchors": _ANCHORS, "regions": 2},
        inputs={"rois": _ROIS, "kinds": _KINDS, "proposed": _PROPOSED},
        changes={f", {width}, blocks": f", {width // 8}, blocks" for width in (64, 128, 256, 512)},
    ),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.001, momentum=0.9, weight_decay=5e-4),
)
