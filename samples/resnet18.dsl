# ResNet-18 for ImageNet (He et al., 2016)
#
# He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, table 1, with projection shortcuts
# where the size changes and no biases in convolutions. 11,689,512 parameters, 1.814 GMAC an image of 224 x 224. Batch
# and optimizer are torchvision's for one device.
block basic(x, width, stride) {
  shortcut = x
  if stride != 1 or shape(x)[1] != width {
    project = conv2d(x, width, kernel=1, stride=stride, bias=false)
    shortcut = batch_norm(project)
  }
  conv1 = conv2d(x, width, kernel=3, stride=stride, padding=1, bias=false)
  bn1 = batch_norm(conv1)
  relu1 = relu(bn1)
  conv2 = conv2d(relu1, width, kernel=3, padding=1, bias=false)
  bn2 = batch_norm(conv2)
  relu2 = relu(bn2 + shortcut)
  return relu2
}

block stage(x, width, blocks, stride) {
  for i in 0..blocks { x = basic(x, width, stride if i == 0 else 1) }
  return x
}

network resnet18(batch=32, image=224, classes=1000) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 64, kernel=7, stride=2, padding=3, bias=false)
  bn1 = batch_norm(conv1)
  relu1 = relu(bn1)
  pool1 = max_pool(relu1, kernel=3, stride=2, padding=1)

  stage1 = stage(pool1, 64, blocks=2, stride=1)
  stage2 = stage(stage1, 128, blocks=2, stride=2)
  stage3 = stage(stage2, 256, blocks=2, stride=2)
  stage4 = stage(stage3, 512, blocks=2, stride=2)

  features = global_avg_pool(stage4)
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9, weight_decay=1e-4)
}
