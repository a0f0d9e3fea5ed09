# The network that the methods train in the study: residual pairs of two streams, so that reversible methods apply,
# small enough to run each method in a few seconds.
block pair(x1, x2, width) {
  y1 = x1 + linear(relu(linear(x2, width)), width)
  y2 = x2 + linear(relu(linear(y1, width)), width)
  return [y1, y2]
}

network small(batch = 64, width = 32, depth = 2) {
  input  x: f32[batch, 64]
  labels y: i32[batch]
  stem = linear(x, 2 * width)
  x1, x2 = split(stem, width, 1)
  for i in 0..depth {
    x1, x2 = pair(x1, x2, width)
  }
  loss cross_entropy(linear(concat([x1, x2], axis=1), 16), y)
  optimizer sgd(lr = 0.01, momentum = 0.9)
}
