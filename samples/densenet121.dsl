# DenseNet-121 for ImageNet (Huang et al., 2017)
#
# Huang, Liu, van der Maaten, Weinberger, "Densely Connected Convolutional Networks", CVPR 2017, table 1, DenseNet-BC
# with growth rate 32. 7,978,856 parameters, 2.834 GMAC an image of 224 x 224. Batch and optimizer are torchvision's
# for one device.
block dense_layer(x, growth) {
  conv1 = conv2d(relu(batch_norm(x)), 4 * growth, kernel=1, bias=false)
  conv2 = conv2d(relu(batch_norm(conv1)), growth, kernel=3, padding=1, bias=false)
  return concat([x, conv2], axis=1)
}

block dense_block(x, layers, growth) {
  for i in 0..layers { x = dense_layer(x, growth) }
  return x
}

block transition(x) {
  conv = conv2d(relu(batch_norm(x)), shape(x)[1] // 2, kernel=1, bias=false)
  return avg_pool(conv, kernel=2)
}

network densenet121(batch=32, image=224, classes=1000, growth=32, depths=[6, 12, 24, 16]) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv0 = conv2d(x, 2 * growth, kernel=7, stride=2, padding=3, bias=false)
  pool0 = max_pool(relu(batch_norm(conv0)), kernel=3, stride=2, padding=1)

  dense1 = dense_block(pool0, depths[0], growth)
  transition1 = transition(dense1)
  dense2 = dense_block(transition1, depths[1], growth)
  transition2 = transition(dense2)
  dense3 = dense_block(transition2, depths[2], growth)
  transition3 = transition(dense3)
  dense4 = dense_block(transition3, depths[3], growth)

  features = global_avg_pool(relu(batch_norm(dense4)))
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9, weight_decay=1e-4)
}
