# The network that the methods train in the study: small enough to run each of them in a few seconds.
network small(batch = 64, hidden = 64) {
  input  x: f32[batch, 64]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  h = relu(linear(h, hidden))
  loss cross_entropy(linear(h, 16), y)
  optimizer sgd(lr = 0.02, momentum = 0.9)
}
