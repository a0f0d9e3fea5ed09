"""Networks whose layers form groups on a small machine."""

CHAIN = """network chain(batch=8) {
  input x: f32[batch, 3, 8, 8]
  a = relu(conv2d(x, 8, kernel=3, padding=1))
  b = relu(conv2d(a, 8, kernel=3, padding=1))
  output y = conv2d(b, 8, kernel=3, padding=1)
}
"""
STEP = """network step(batch=8) {
  input x: f32[batch, 64]
  labels y: i32[batch]
  h = relu(linear(x, 64))
  g = relu(linear(h, 64))
  loss cross_entropy(linear(g, 8), y)
  optimizer sgd(lr=0.1)
}
"""
HARDWARE = {"array.rows": 8, "array.cols": 8, "memory.spm_kib": 12}
