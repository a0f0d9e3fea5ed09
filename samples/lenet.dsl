# LeNet-5 for MNIST digits (LeCun et al., 1998)
#
# LeCun, Bottou, Bengio, Haffner, "Gradient-Based Learning Applied to Document Recognition", Proc. IEEE 1998, figure 2,
# as it is commonly trained: relu, maximum pooling without coefficients, every map of conv2 sees every map of pool1. The
# padding of conv1 makes the paper's 32 x 32 of MNIST's 28 x 28. 61,706 parameters, 416,520 MACs an image. Batch and
# optimizer are those of Caffe's MNIST example.
network lenet(batch=64, image=28, classes=10) {
  input  x: f32[batch, 1, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 6, kernel=5, padding=2)
  pool1 = max_pool(relu(conv1), kernel=2)
  conv2 = conv2d(pool1, 16, kernel=5)
  pool2 = max_pool(relu(conv2), kernel=2)

  fc3 = linear(flatten(pool2), 120)
  fc4 = linear(relu(fc3), 84)
  logits = linear(relu(fc4), classes)

  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9, weight_decay=5e-4)
}
