# ShuffleNetV2 for ImageNet (Ma et al., 2018)
#
# Ma, Zhang, Zheng, Sun, "ShuffleNet V2: Practical Guidelines for Efficient CNN Architecture Design", ECCV 2018, table
# 5, width 1x. 2,278,604 parameters, 0.145 GMAC an image of 224 x 224. `widths` are the channels of the three stages
# and of conv5. Batch and optimizer are torchvision's for one device.
block branch(x, channels, stride) {
  conv1 = relu(batch_norm(conv2d(x, channels, kernel=1, bias=false)))
  depthwise = batch_norm(conv2d(conv1, channels, kernel=3, stride=stride, padding=1, groups=channels, bias=false))
  conv2 = relu(batch_norm(conv2d(depthwise, channels, kernel=1, bias=false)))
  return conv2
}

block shortcut(x, channels) {
  inputs = shape(x)[1]
  depthwise = batch_norm(conv2d(x, inputs, kernel=3, stride=2, padding=1, groups=inputs, bias=false))
  conv = relu(batch_norm(conv2d(depthwise, channels, kernel=1, bias=false)))
  return conv
}

block unit(x, channels) {
  left, right = split(x, channels // 2, axis=1)
  right = branch(right, channels // 2, 1)
  return channel_shuffle(concat([left, right], axis=1), 2)
}

block stage(x, channels, units) {
  left = shortcut(x, channels // 2)
  right = branch(x, channels // 2, 2)
  x = channel_shuffle(concat([left, right], axis=1), 2)
  for i in 1..units { x = unit(x, channels) }
  return x
}

network shufflenet_v2(batch=32, image=224, classes=1000, widths=[116, 232, 464, 1024]) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = relu(batch_norm(conv2d(x, 24, kernel=3, stride=2, padding=1, bias=false)))
  pool1 = max_pool(conv1, kernel=3, stride=2, padding=1)
  stage2 = stage(pool1, widths[0], 4)
  stage3 = stage(stage2, widths[1], 8)
  stage4 = stage(stage3, widths[2], 4)
  conv5 = relu(batch_norm(conv2d(stage4, widths[3], kernel=1, bias=false)))
  logits = linear(global_avg_pool(conv5), classes)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.5, momentum=0.9, weight_decay=2e-5)
}
