# MobileNetV2 for ImageNet (Sandler et al., 2018)
#
# Sandler, Howard, Zhu, Zhmoginov, Chen, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018, table 2,
# width 1.0, no biases in convolutions. 3,504,872 parameters, 0.301 GMAC an image of 224 x 224. Batch and optimizer are
# torchvision's for one device.
block inverted_residual(x, channels, stride, expansion) {
  inputs = shape(x)[1]
  inside = expansion * inputs
  h = x
  if expansion > 1 {
    expand = conv2d(x, inside, kernel=1, bias=false)
    expand_bn = batch_norm(expand)
    expand_relu = relu6(expand_bn)
    h = expand_relu
  }
  depthwise = conv2d(h, inside, kernel=3, stride=stride, padding=1, groups=inside, bias=false)
  depthwise_bn = batch_norm(depthwise)
  depthwise_relu = relu6(depthwise_bn)
  project = conv2d(depthwise_relu, channels, kernel=1, bias=false)
  project_bn = batch_norm(project)
  if stride != 1 or inputs != channels { return project_bn }
  residual = x + project_bn
  return residual
}

block stage(x, channels, blocks, stride, expansion=6) {
  for i in 0..blocks { x = inverted_residual(x, channels, stride if i == 0 else 1, expansion) }
  return x
}

network mobilenet_v2(batch=32, image=224, classes=1000) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 32, kernel=3, stride=2, padding=1, bias=false)
  bn1 = batch_norm(conv1)
  relu1 = relu6(bn1)

  stage1 = stage(relu1, 16, blocks=1, stride=1, expansion=1)
  stage2 = stage(stage1, 24, blocks=2, stride=2)
  stage3 = stage(stage2, 32, blocks=3, stride=2)
  stage4 = stage(stage3, 64, blocks=4, stride=2)
  stage5 = stage(stage4, 96, blocks=3, stride=1)
  stage6 = stage(stage5, 160, blocks=3, stride=2)
  stage7 = stage(stage6, 320, blocks=1, stride=1)

  conv8 = conv2d(stage7, 1280, kernel=1, bias=false)
  bn8 = batch_norm(conv8)
  relu8 = relu6(bn8)
  features = global_avg_pool(relu8)
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.045, momentum=0.9, weight_decay=4e-5)
}
