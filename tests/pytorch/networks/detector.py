"""The head of a detector: regions of a frozen and a trained map of features, classes and boxes."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_SOURCE = """
network detector(batch=2, image=24, regions=5) {
  input  x: f32[batch, 3, image, image]
  input  rois: f32[regions, 5]
  input  boxes: f32[regions, 4]
  labels classes: i32[regions]
  stem = frozen conv2d(x, 4, kernel=5, stride=2, padding=2)
  normed = frozen batch_norm(stem)
  backbone = relu(batch_norm(conv2d(relu(normed), 6, kernel=3, padding=same, bias=false), eps=1e-3, momentum=0.3))
  crops = roi_align(backbone, rois, [3, 2], scale=0.5, sampling_ratio=3)
  gathered = adaptive_avg_pool(crops, [2, 1])
  h = relu(linear(concat([flatten(crops), flatten(gathered)], axis=1), 9))
  scores = linear(h, 3)
  moves = linear(h, 4)
  wanted = unsqueeze(cast(greater(cast(classes, to=f32), 0), to=f32), 1)
  loss cross_entropy(scores, classes, reduction=sum) / regions
  loss smooth_l1_loss(moves * wanted, boxes * wanted)
  loss 1e-3 * binary_cross_entropy(clip(sigmoid(scores), 0.01, 0.99), one_hot(classes, 3))
  optimizer adamax(lr=0.01, weight_decay=0.01)
}
"""
_ROIS = [[0, 2.0, 3.0, 17.0, 20.0], [1, 5.5, 1.0, 9.5, 22.5], [1, 8.0, 8.0, 21.0, 11.0], [0, 1, 1, 22, 22]]
_ROIS += [[0, 12.25, 6.0, 18.0, 19.75]]


def roi_align(x: Tensor, rois: Tensor, size: tuple[int, int], scale: float, ratio: int) -> Tensor:
    """
    The paper's definition by torch.nn.functional.grid_sample: the mean of ratio x ratio samples of each bin.

    The regions must lie in the image. Pixel i has its centre at i + 1/2, and so have the coordinates of the regions.
    """
    height, width = x.shape[-2:]
    crops: list[Tensor] = []
    for number, left, top, right, bottom in rois.tolist():
        ys = top + (bottom - top) * (torch.arange(size[0] * ratio) + 0.5) / (size[0] * ratio)
        xs = left + (right - left) * (torch.arange(size[1] * ratio) + 0.5) / (size[1] * ratio)
        grid_y, grid_x = torch.meshgrid(2 * ys * scale / height - 1, 2 * xs * scale / width - 1, indexing="ij")
        grid = torch.stack([grid_x, grid_y], -1)[None]
        samples = F.grid_sample(x[[int(number)]], grid, mode="bilinear", padding_mode="border", align_corners=False)
        crops.append(F.avg_pool2d(samples, ratio))
    return torch.cat(crops)


def _loss(w: Weights, x: Inputs) -> Tensor:
    stem = w.conv2d("stem", x["x"], stride=2, padding=2)
    h = w.conv2d("backbone.conv2d", F.relu(w.batch_norm("normed", stem)), padding="same")
    backbone = F.relu(w.batch_norm("backbone.batch_norm", h, eps=1e-3, momentum=0.3))
    crops = roi_align(backbone, x["rois"], (3, 2), 0.5, 3)
    h = torch.cat([crops.flatten(1), F.adaptive_avg_pool2d(crops, (2, 1)).flatten(1)], 1)
    h = F.relu(w.linear("h.linear", h))
    scores, moves = w.linear("scores", h), w.linear("moves", h)
    wanted = (x["classes"] > 0).to(h.dtype)[:, None]
    chances = torch.sigmoid(scores).clamp(0.01, 0.99)
    loss = F.cross_entropy(scores, x["classes"]) + F.smooth_l1_loss(moves * wanted, x["boxes"] * wanted)
    return loss + 1e-3 * F.binary_cross_entropy(chances, F.one_hot(x["classes"], 3).to(h.dtype))


NETWORK = Network(
    Task(_SOURCE, limits={"classes": 3}, inputs={"rois": _ROIS}),
    _loss,
    lambda params: torch.optim.Adamax(params, lr=0.01, weight_decay=0.01),
    frozen=frozenset({"stem.weight", "stem.bias", "normed.weight", "normed.bias"}),
)
