"""What the tests of optimizations have in common: a small network."""

NET = """\
network net(batch=4, hidden=6) {
  input  x: f32[batch, 20]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  loss cross_entropy(linear(h, 3), y)
  optimizer sgd(lr=0.1)
}
"""
CONVOLUTIONS = """\
network convs(batch=2) {
  input  x: f32[batch, 3, 10, 10]
  labels y: i32[batch]
  a = relu(conv2d(x, 8, kernel=3, padding=1))
  b = conv2d(a, 6, kernel=3, stride=2, padding=1)
  loss cross_entropy(linear(global_avg_pool(b), 5), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
AT_28_NM = {"technology.node_nm": 28}
