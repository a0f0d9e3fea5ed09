# MobileNet for ImageNet (Howard et al., 2017)
#
# Howard, Zhu, Chen, et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications",
# arXiv:1704.04861, table 1, width 1.0, no biases in convolutions. 4,231,976 parameters, 0.569 GMAC an image of
# 224 x 224. Batch and optimizer are those of the authors' models for TensorFlow.
block separable(x, channels, stride=1) {
  depthwise = conv2d(x, shape(x)[1], kernel=3, stride=stride, padding=1, groups=shape(x)[1], bias=false)
  depthwise_bn = batch_norm(depthwise)
  depthwise_relu = relu(depthwise_bn)
  pointwise = conv2d(depthwise_relu, channels, kernel=1, bias=false)
  pointwise_bn = batch_norm(pointwise)
  pointwise_relu = relu(pointwise_bn)
  return pointwise_relu
}

block stage(x, channels, blocks) {
  for i in 0..blocks { x = separable(x, channels, 2 if i == 0 else 1) }
  return x
}

network mobilenet_v1(batch=32, image=224, classes=1000) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 32, kernel=3, stride=2, padding=1, bias=false)
  bn1 = batch_norm(conv1)
  relu1 = relu(bn1)

  stage1 = separable(relu1, 64)
  stage2 = stage(stage1, 128, blocks=2)
  stage3 = stage(stage2, 256, blocks=2)
  stage4 = stage(stage3, 512, blocks=6)
  stage5 = stage(stage4, 1024, blocks=2)

  features = global_avg_pool(stage5)
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer rmsprop(lr=0.045, alpha=0.9, eps=1.0, momentum=0.9, weight_decay=4e-5)
}
