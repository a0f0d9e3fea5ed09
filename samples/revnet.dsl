# RevNet-38 for CIFAR-10 images (Gomez et al., 2017)
#
# Gomez, Ren, Urtasun, Grosse, "The Reversible Residual Network: Backpropagation Without Storing Activations", NeurIPS
# 2017: pairs y1 = x1 + F(x2), y2 = x2 + G(y1), whose inputs follow from their outputs. Widths, strides, batch and
# optimizer are those of the authors' program (revnet-38): a stage is `depth` units; the first of the second and third
# stage halves the image by the mean of 2 x 2 pixels, with channels of zeros for those that are new, so that its first
# half is no pair of values that follow from one another. `recompute{policy=reversible}` keeps one pair a stage.
block residual(x, channels, stride, activated) {
  h = x
  if not activated { h = relu(batch_norm(x)) }
  conv1 = conv2d(h, channels, kernel=3, stride=stride, padding=1, bias=false)
  relu2 = relu(batch_norm(conv1))
  conv2 = conv2d(relu2, channels, kernel=3, padding=1, bias=false)
  return conv2
}

block shorter(x, channels, stride) {
  if stride == 1 { return x }
  pooled = avg_pool(x, kernel=stride)
  before = (channels - shape(x)[1]) // 2
  padded = pad(pooled, [0, 0, 0, 0, before, channels - shape(x)[1] - before])
  return padded
}

block unit(x1, x2, channels, stride, activated) {
  f = residual(x2, channels, stride, activated)
  y1 = shorter(x1, channels, stride) + f
  g = residual(y1, channels, 1, false)
  y2 = shorter(x2, channels, stride) + g
  return [y1, y2]
}

network revnet(batch=100, image=32, classes=10, widths=[32, 32, 64, 112], depth=3) {
  if depth < 1 { error "depth is the units of a stage, at least 1, got ", depth }
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, widths[0], kernel=3, padding=1, bias=false)
  stem = relu(batch_norm(conv1))
  x1, x2 = split(stem, widths[0] // 2, 1)
  for stage in 0..3 {
    for i in 0..depth {
      stride = 2 if stage > 0 and i == 0 else 1
      x1, x2 = unit(x1, x2, widths[stage + 1] // 2, stride, stage == 0 and i == 0)
    }
  }
  last = relu(batch_norm(concat([x1, x2], axis=1)))
  features = global_avg_pool(last)
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9, weight_decay=2e-4)
}
