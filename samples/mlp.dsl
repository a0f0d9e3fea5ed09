# Perceptron with one hidden layer for MNIST digits
#
# 784-512-10, as in TensorFlow's tutorial "Save and load models", without its dropout. 407,050 parameters, 406,528 MACs
# an image. `hidden` is the width of the hidden layer.
network mlp(batch=64, hidden=512) {
  input  x: f32[batch, 784]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  logits = linear(h, 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
