# VGG-E, of nineteen layers, for ImageNet (Simonyan, Zisserman, 2015)
#
# "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR 2015, table 1, configuration E, as Song et
# al., "HyPar", HPCA 2019, count it: 143,652,544 weights, no biases; without dropout. Batch is theirs for 16
# accelerators together. Another `image` (at least 32) changes the size of fc1.
block unit(x, channels) {
  conv = conv2d(x, channels, kernel=3, padding=1, bias=false)
  return relu(conv)
}

block stage(x, channels, units) {
  for i in 0..units { x = unit(x, channels) }
  pool = max_pool(x, kernel=2)
  return pool
}

network vgg_e(batch=256, image=224, classes=1000, hidden=4096) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  stage1 = stage(x, 64, units=2)
  stage2 = stage(stage1, 128, units=2)
  stage3 = stage(stage2, 256, units=4)
  stage4 = stage(stage3, 512, units=4)
  stage5 = stage(stage4, 512, units=4)

  fc1 = linear(flatten(stage5), hidden, bias=false)
  fc2 = linear(relu(fc1), hidden, bias=false)
  fc3 = linear(relu(fc2), classes, bias=false)

  loss cross_entropy(fc3, y)
  optimizer sgd(lr=0.01)
}
