# SCONV, convolutions alone for MNIST digits (Song et al., 2019)
#
# Song, Mao, Zhuo, Qian, Li, Chen, "HyPar: Towards Hybrid Parallelism for Deep Learning Accelerator Array", HPCA 2019:
# four convolutions and no other layer, the extreme of little weight and large maps. 100,500 weights, no biases, as
# the paper counts. Batch is the paper's for 16 accelerators together. The last pooling takes the whole map that is
# left, 2 x 2 of an image of 28 x 28.
network sconv(batch=256, image=28, classes=10) {
  input  x: f32[batch, 1, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 20, kernel=5, bias=false)
  conv2 = conv2d(relu(conv1), 50, kernel=5, bias=false)
  pool2 = max_pool(relu(conv2), kernel=2)
  conv3 = conv2d(pool2, 50, kernel=5, bias=false)
  conv4 = conv2d(relu(conv3), classes, kernel=5, bias=false)
  pool4 = max_pool(conv4, kernel=shape(conv4)[2])

  loss cross_entropy(flatten(pool4), y)
  optimizer sgd(lr=0.01)
}
