# Contractions of the kinds that networks of images have: a first, an early and a late convolution, one by channels, one
# of single pixels, and two products. Sizes are ours.
network layers(batch = 4) {
  input x: f32[batch, 3, 112, 112]
  labels t: i32[batch]
  first = conv2d(x, 32, kernel=3, stride=2, padding=1)
  early = conv2d(relu(first), 64, kernel=3, padding=1)
  depthwise = conv2d(relu(early), 64, kernel=3, stride=2, padding=1, groups=64)
  pointwise = conv2d(relu(depthwise), 256, kernel=1)
  late = conv2d(avg_pool(relu(pointwise), 4), 512, kernel=3, padding=1)
  hidden = linear(global_avg_pool(relu(late)), 1024)
  logits = linear(relu(hidden), 1000)
  loss cross_entropy(logits, t)
  optimizer sgd(lr=0.1)
}
