# VGG-16 for ImageNet (Simonyan, Zisserman, 2015)
#
# "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR 2015, table 1, configuration D. 138,357,544
# parameters, 15.47 GMAC an image of 224 x 224. Another `image` (at least 32) changes the size of fc6. Batch and
# optimizer are torchvision's for one device.
block unit(x, channels) {
  conv = conv2d(x, channels, kernel=3, padding=1)
  return relu(conv)
}

block stage(x, channels, units) {
  for i in 0..units { x = unit(x, channels) }
  pool = max_pool(x, kernel=2)
  return pool
}

network vgg16(batch=32, image=224, classes=1000, dropout=0.5) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  stage1 = stage(x, 64, units=2)
  stage2 = stage(stage1, 128, units=2)
  stage3 = stage(stage2, 256, units=3)
  stage4 = stage(stage3, 512, units=3)
  stage5 = stage(stage4, 512, units=3)

  fc6 = linear(flatten(stage5), 4096)
  drop6 = dropout(relu(fc6), dropout)
  fc7 = linear(drop6, 4096)
  drop7 = dropout(relu(fc7), dropout)
  logits = linear(drop7, classes)

  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9, weight_decay=1e-4)
}
