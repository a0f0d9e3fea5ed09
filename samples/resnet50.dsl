# ResNet-50 for ImageNet (He et al., 2016)
#
# He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, table 1, with projection shortcuts
# where the size changes and no biases in convolutions. `variant` says where a bottleneck has its stride: "v1" on the
# first 1x1, as in the paper; "v1_5" on the 3x3, as in torchvision. 25,557,032 parameters; an image of 224 x 224 takes
# 3.858 GMAC (v1) or 4.089 GMAC (v1_5). Batch and optimizer are torchvision's for one device.
block bottleneck(x, width, stride, variant) {
  shortcut = x
  if stride != 1 or shape(x)[1] != 4 * width {
    project = conv2d(x, 4 * width, kernel=1, stride=stride, bias=false)
    shortcut = batch_norm(project)
  }
  if variant == "v1" { variant_strides = [stride, 1] }
  if variant == "v1_5" { variant_strides = [1, stride] }
  conv1 = conv2d(x, width, kernel=1, stride=variant_strides[0], bias=false)  # variant: v1 or v1_5
  bn1 = batch_norm(conv1)
  relu1 = relu(bn1)
  conv2 = conv2d(relu1, width, kernel=3, stride=variant_strides[1], padding=1, bias=false)
  bn2 = batch_norm(conv2)
  relu2 = relu(bn2)
  conv3 = conv2d(relu2, 4 * width, kernel=1, bias=false)
  bn3 = batch_norm(conv3)
  relu3 = relu(bn3 + shortcut)
  return relu3
}

block stage(x, width, blocks, stride, variant) {
  for i in 0..blocks { x = bottleneck(x, width, stride if i == 0 else 1, variant) }
  return x
}

network resnet50(batch=32, image=224, classes=1000, variant="v1") {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 64, kernel=7, stride=2, padding=3, bias=false)
  bn1 = batch_norm(conv1)
  relu1 = relu(bn1)
  pool1 = max_pool(relu1, kernel=3, stride=2, padding=1)

  stage1 = stage(pool1, 64, blocks=3, stride=1, variant=variant)
  stage2 = stage(stage1, 128, blocks=4, stride=2, variant=variant)
  stage3 = stage(stage2, 256, blocks=6, stride=2, variant=variant)
  stage4 = stage(stage3, 512, blocks=3, stride=2, variant=variant)

  features = global_avg_pool(stage4)
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9, weight_decay=1e-4)
}
