# SFC, fully connected layers for MNIST digits (Song et al., 2019)
#
# Song, Mao, Zhuo, Qian, Li, Chen, "HyPar: Towards Hybrid Parallelism for Deep Learning Accelerator Array", HPCA 2019:
# 784-8192-8192-8192-10, the extreme of much weight and small maps. 140,722,176 weights, no biases, as the paper counts.
# Batch is the paper's for 16 accelerators together. `hidden` is the width of the layers.
network sfc(batch=256, hidden=8192, classes=10) {
  input  x: f32[batch, 784]
  labels y: i32[batch]

  fc1 = linear(x, hidden, bias=false)
  fc2 = linear(relu(fc1), hidden, bias=false)
  fc3 = linear(relu(fc2), hidden, bias=false)
  fc4 = linear(relu(fc3), classes, bias=false)

  loss cross_entropy(fc4, y)
  optimizer sgd(lr=0.01)
}
