# EfficientNet-B0 for ImageNet (Tan, Le, 2019)
#
# Tan, Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", ICML 2019, table 1. 5,288,548
# parameters, 0.386 GMAC an image of 224 x 224. Stochastic depth is left out. Batch is torchvision's for one device,
# the optimizer is the authors' RMSProp, whose 0.001 is added inside the root: `eps` is its root.
block squeeze_excite(x, squeezed) {
  channels = shape(x)[1]
  fc1 = silu(linear(global_avg_pool(x), squeezed))
  fc2 = sigmoid(linear(fc1, channels))
  return x * reshape(fc2, [-1, channels, 1, 1])
}

block mbconv(x, channels, kernel, stride, expansion) {
  inputs = shape(x)[1]
  inside = expansion * inputs
  h = x
  if expansion > 1 { h = silu(batch_norm(conv2d(x, inside, kernel=1, bias=false))) }
  padding = (kernel - 1) // 2
  depthwise = conv2d(h, inside, kernel=kernel, stride=stride, padding=padding, groups=inside, bias=false)
  activation = silu(batch_norm(depthwise))
  se = squeeze_excite(activation, inputs // 4)
  project = batch_norm(conv2d(se, channels, kernel=1, bias=false))
  return x + project if stride == 1 and inputs == channels else project
}

block stage(x, channels, blocks, kernel, stride, expansion=6) {
  for i in 0..blocks { x = mbconv(x, channels, kernel, stride if i == 0 else 1, expansion) }
  return x
}

network efficientnet_b0(batch=32, image=224, classes=1000, dropout=0.2) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  stem = silu(batch_norm(conv2d(x, 32, kernel=3, stride=2, padding=1, bias=false)))
  stage1 = stage(stem, 16, 1, 3, 1, expansion=1)
  stage2 = stage(stage1, 24, 2, 3, 2)
  stage3 = stage(stage2, 40, 2, 5, 2)
  stage4 = stage(stage3, 80, 3, 3, 2)
  stage5 = stage(stage4, 112, 3, 5, 1)
  stage6 = stage(stage5, 192, 4, 5, 2)
  stage7 = stage(stage6, 320, 1, 3, 1)
  head = silu(batch_norm(conv2d(stage7, 1280, kernel=1, bias=false)))
  features = dropout(global_avg_pool(head), dropout)
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer rmsprop(lr=0.016, alpha=0.9, eps=0.0316, momentum=0.9, weight_decay=1e-5)
}
