# A small network of convolutions, Caffe's, for CIFAR-10 images (Song et al., 2019)
#
# Song, Mao, Zhuo, Qian, Li, Chen, "HyPar: Towards Hybrid Parallelism for Deep Learning Accelerator Array", HPCA 2019,
# Cifar-c: the layers of Caffe's "quick" example for CIFAR-10, with maximum pooling of 2 x 2. 145,376 weights, no
# biases, as the paper counts. Batch is the paper's for 16 accelerators together.
network cifar_c(batch=256, image=32, classes=10) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 32, kernel=5, padding=2, bias=false)
  pool1 = max_pool(relu(conv1), kernel=2)
  conv2 = conv2d(pool1, 32, kernel=5, padding=2, bias=false)
  pool2 = max_pool(relu(conv2), kernel=2)
  conv3 = conv2d(pool2, 64, kernel=5, padding=2, bias=false)
  pool3 = max_pool(relu(conv3), kernel=2)

  fc1 = linear(flatten(pool3), 64, bias=false)
  fc2 = linear(relu(fc1), classes, bias=false)

  loss cross_entropy(fc2, y)
  optimizer sgd(lr=0.01)
}
