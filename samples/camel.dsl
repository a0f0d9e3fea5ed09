# A reversible branch beside a frozen backbone, to learn on the device (after CAMEL, Zhang et al., 2024)
#
# Zhang, Tambe, Cuevas, Wei, Brooks, "CAMEL: Co-Designing AI Models and eDRAMs for Efficient On-Device Learning", HPCA
# 2024: a trained backbone stays as it is; a branch that is trained reads its features, in reversible blocks
# y2 = F1(x1) + x2, y1 = F2(y2) + x1 without normalisation. The backbone here is ResNet-18 (He et al., 2016), its batch
# normalisations part of the convolutions, as after training; the paper gives no layers of the branch: its `width`,
# `depth` blocks a stage and the convolutions of 1 x 1 that read the features are of our choice.
block basic(x, width, stride) {
  shortcut = x
  if stride != 1 or shape(x)[1] != width { shortcut = conv2d(x, width, kernel=1, stride=stride) }
  relu1 = relu(conv2d(x, width, kernel=3, stride=stride, padding=1))
  conv2 = conv2d(relu1, width, kernel=3, padding=1)
  relu2 = relu(conv2 + shortcut)
  return relu2
}

block stage(x, width, stride) {
  first = basic(x, width, stride)
  second = basic(first, width, 1)
  return second
}

block root(x) {
  relu1 = relu(conv2d(x, 64, kernel=7, stride=2, padding=3))
  pool1 = max_pool(relu1, kernel=3, stride=2, padding=1)
  return pool1
}

block function(x) {
  conv1 = relu(conv2d(x, shape(x)[1], kernel=3, padding=1))
  conv2 = conv2d(conv1, shape(x)[1], kernel=3, padding=1)
  return conv2
}

block reversible(x1, x2) {
  y2 = function(x1) + x2
  y1 = function(y2) + x1
  return [y1, y2]
}

network camel(batch=32, image=224, classes=10, width=64, depth=2) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  h = frozen root(x)
  for i in 0..4 {
    h = frozen stage(h, [64, 128, 256, 512][i], 1 if i == 0 else 2)
    seen = conv2d(h, 2 * width, kernel=1)
    if i == 0 { joined = seen }
    if i > 0 { joined = seen + avg_pool(concat([x1, x2], axis=1), kernel=2) }
    x1, x2 = split(joined, width, 1)
    for j in 0..depth { x1, x2 = reversible(x1, x2) }
  }
  features = global_avg_pool(relu(concat([x1, x2], axis=1)))
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9)
}
