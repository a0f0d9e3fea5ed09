# LeNet with wide layers, Caffe's, for MNIST digits (Song et al., 2019)
#
# Song, Mao, Zhuo, Qian, Li, Chen, "HyPar: Towards Hybrid Parallelism for Deep Learning Accelerator Array", HPCA 2019,
# Lenet-c: the network of Caffe's MNIST example, with relu behind the convolutions too. 430,500 weights, no
# biases, as the paper counts. Batch is the paper's for 16 accelerators together.
network lenet_c(batch=256, image=28, classes=10) {
  input  x: f32[batch, 1, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 20, kernel=5, bias=false)
  pool1 = max_pool(relu(conv1), kernel=2)
  conv2 = conv2d(pool1, 50, kernel=5, bias=false)
  pool2 = max_pool(relu(conv2), kernel=2)

  fc1 = linear(flatten(pool2), 500, bias=false)
  fc2 = linear(relu(fc1), classes, bias=false)

  loss cross_entropy(fc2, y)
  optimizer sgd(lr=0.01)
}
