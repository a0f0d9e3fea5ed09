"""A convolutional autoencoder with normalisations of every kind and several losses."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.pytorch.networks import Inputs, Network, Weights
from tests.steps import Task

_SOURCE = """
network autoencoder(batch=2, image=14) {
  input x: f32[batch, 3, image, image]
  input target: f32[batch, 3, image, image]
  conv1 = conv2d(x, 8, kernel=3, stride=2, padding=1)
  norm1 = prelu(group_norm(conv1, 4))
  lrn = local_response_norm(norm1, 3, alpha=0.5, k=2.0)
  conv2 = conv2d(lrn, 12, kernel=3, stride=2, padding=2, dilation=2, groups=2)
  norm2 = mish(instance_norm(conv2, affine=true))
  code = hard_swish(linear(flatten(norm2), 10))
  wide = elu(linear(layer_norm(code), 12 * 4 * 4))
  up1 = softplus(conv_transpose2d(reshape(wide, [batch, 12, 4, 4]), 8, kernel=3, stride=2, padding=1, groups=2))
  up2 = conv_transpose2d(group_norm(up1, 1), 6, kernel=3, stride=2, padding=1, output_padding=1, dilation=1)
  coarse = upsample(conv2d(norm1, 6, kernel=1), scale=2, mode=bilinear)
  fine = pixel_shuffle(conv2d(norm1, 24, kernel=1, bias=false), 2)
  mixed = tanh(up2 + coarse * fine)
  y = conv2d(pad(mixed, [1, 1, 1, 1], mode=reflect), 3, kernel=3)
  output y
  loss smooth_l1_loss(y, target, beta=0.5)
  loss 0.01 * l1_loss(code, code * 0)
  loss 0.3 * huber_loss(coarse, fine, delta=0.2, reduction=sum) / batch
  optimizer sgd(lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=true)
}
"""


def _loss(w: Weights, x: Inputs) -> Tensor:
    h = w.group_norm("norm1.group_norm", w.conv2d("conv1", x["x"], stride=2, padding=1), 4)
    norm1 = F.prelu(h, w["norm1.weight"])
    h = F.local_response_norm(norm1, 3, alpha=0.5, k=2.0)
    h = w.conv2d("conv2", h, stride=2, padding=2, dilation=2, groups=2)
    name = "norm2.instance_norm"
    h = F.mish(F.instance_norm(h, weight=w[f"{name}.weight"], bias=w[f"{name}.bias"]))
    code = F.hardswish(w.linear("code.linear", h.flatten(1)))
    h = F.elu(w.linear("wide.linear", w.layer_norm("wide.layer_norm", code))).unflatten(1, (12, 4, 4))
    h = F.softplus(w.conv_transpose2d("up1.conv_transpose2d", h, stride=2, padding=1, groups=2))
    h = w.group_norm("up2.group_norm", h, 1)
    up2 = w.conv_transpose2d("up2", h, stride=2, padding=1, output_padding=1)
    coarse = F.interpolate(w.conv2d("coarse.conv2d", norm1), scale_factor=2, mode="bilinear")
    fine = F.pixel_shuffle(w.conv2d("fine.conv2d", norm1), 2)
    mixed = torch.tanh(up2 + coarse * fine)
    y = w.conv2d("y", F.pad(mixed, (1, 1, 1, 1), mode="reflect"))
    loss = F.smooth_l1_loss(y, x["target"], beta=0.5) + 0.01 * F.l1_loss(code, torch.zeros_like(code))
    return loss + 0.3 * F.huber_loss(coarse, fine, delta=0.2, reduction="sum") / len(y)


NETWORK = Network(
    Task(_SOURCE),
    _loss,
    lambda params: torch.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True),
)
