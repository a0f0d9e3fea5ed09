# AlexNet, one of its two towers, for ImageNet (Song et al., 2019)
#
# Song, Mao, Zhuo, Qian, Li, Chen, "HyPar: Towards Hybrid Parallelism for Deep Learning Accelerator Array", HPCA 2019.
# The paper names no sizes; with the channels of one tower of Krizhevsky et al., NIPS 2012, its amounts of communication
# come out. 16,624,656 weights, no biases, as the paper counts. Batch is the paper's for 16 accelerators together.
# Another `image` (at least 67) changes the size of fc1.
network alexnet_hypar(batch=256, image=227, classes=1000, hidden=2048) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 48, kernel=11, stride=4, bias=false)
  pool1 = max_pool(relu(conv1), kernel=3, stride=2)
  conv2 = conv2d(pool1, 128, kernel=5, padding=2, bias=false)
  pool2 = max_pool(relu(conv2), kernel=3, stride=2)
  conv3 = conv2d(pool2, 192, kernel=3, padding=1, bias=false)
  conv4 = conv2d(relu(conv3), 192, kernel=3, padding=1, bias=false)
  conv5 = conv2d(relu(conv4), 128, kernel=3, padding=1, bias=false)
  pool5 = max_pool(relu(conv5), kernel=3, stride=2)

  fc1 = linear(flatten(pool5), hidden, bias=false)
  fc2 = linear(relu(fc1), hidden, bias=false)
  fc3 = linear(relu(fc2), classes, bias=false)

  loss cross_entropy(fc3, y)
  optimizer sgd(lr=0.01)
}
