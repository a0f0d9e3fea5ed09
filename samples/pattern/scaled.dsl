# A small network with two scalings in a row, for the rewrite in merge_scalings.py.
network scaled(batch=32, width=256) {
  input  x: f32[batch, width]
  labels y: i32[batch]
  h = relu(linear(x, width))
  halved = h * 0.5
  scaled = halved * 0.25
  logits = linear(scaled, 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
