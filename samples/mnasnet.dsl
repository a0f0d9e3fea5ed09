# MnasNet-B1 for ImageNet (Tan et al., 2019)
#
# Tan, Chen, Pang, Vasudevan, Sandler, Howard, Le, "MnasNet: Platform-Aware Neural Architecture Search for Mobile", CVPR
# 2019: the network without squeeze and excitation, width 1.0, as torchvision has it (mnasnet1_0), no biases in
# convolutions. 4,383,312 parameters, 0.314 GMAC an image of 224 x 224. Batch and optimizer are those of mobilenet_v2.
block inverted_residual(x, channels, kernel, stride, expansion) {
  inputs = shape(x)[1]
  inside = expansion * inputs
  expand = conv2d(x, inside, kernel=1, bias=false)
  expand_bn = batch_norm(expand)
  expand_relu = relu(expand_bn)
  depthwise = conv2d(expand_relu, inside, kernel=kernel, stride=stride, padding=kernel // 2, groups=inside, bias=false)
  depthwise_bn = batch_norm(depthwise)
  depthwise_relu = relu(depthwise_bn)
  project = conv2d(depthwise_relu, channels, kernel=1, bias=false)
  project_bn = batch_norm(project)
  if stride != 1 or inputs != channels { return project_bn }
  residual = x + project_bn
  return residual
}

block stage(x, channels, blocks, kernel, stride, expansion) {
  for i in 0..blocks { x = inverted_residual(x, channels, kernel, stride if i == 0 else 1, expansion) }
  return x
}

network mnasnet(batch=32, image=224, classes=1000, dropout=0.2) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 32, kernel=3, stride=2, padding=1, bias=false)
  bn1 = batch_norm(conv1)
  relu1 = relu(bn1)
  depthwise1 = conv2d(relu1, 32, kernel=3, padding=1, groups=32, bias=false)
  depthwise_bn1 = batch_norm(depthwise1)
  depthwise_relu1 = relu(depthwise_bn1)
  project1 = conv2d(depthwise_relu1, 16, kernel=1, bias=false)
  project_bn1 = batch_norm(project1)

  stage1 = stage(project_bn1, 24, blocks=3, kernel=3, stride=2, expansion=3)
  stage2 = stage(stage1, 40, blocks=3, kernel=5, stride=2, expansion=3)
  stage3 = stage(stage2, 80, blocks=3, kernel=5, stride=2, expansion=6)
  stage4 = stage(stage3, 96, blocks=2, kernel=3, stride=1, expansion=6)
  stage5 = stage(stage4, 192, blocks=4, kernel=5, stride=2, expansion=6)
  stage6 = stage(stage5, 320, blocks=1, kernel=3, stride=1, expansion=6)

  conv7 = conv2d(stage6, 1280, kernel=1, bias=false)
  bn7 = batch_norm(conv7)
  relu7 = relu(bn7)
  features = dropout(global_avg_pool(relu7), dropout)
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.045, momentum=0.9, weight_decay=4e-5)
}
