# GoogLeNet for ImageNet (Szegedy et al., 2015)
#
# Szegedy, Liu, Jia, et al., "Going Deeper with Convolutions", CVPR 2015, table 1 and figure 3, with local response
# normalisation as in Caffe's BVLC GoogLeNet. 6,998,552 parameters, 1.582 GMAC an image of 224 x 224; training adds the
# two auxiliary classifiers, whose losses weigh 0.3 (`auxiliary=false` leaves them out): 13,378,280 parameters. Batch
# and optimizer are those of Caffe's quick solver.
block inception(x, c1, r3, c3, r5, c5, projection) {
  b1 = relu(conv2d(x, c1, kernel=1))
  reduce3 = relu(conv2d(x, r3, kernel=1))
  b3 = relu(conv2d(reduce3, c3, kernel=3, padding=1))
  reduce5 = relu(conv2d(x, r5, kernel=1))
  b5 = relu(conv2d(reduce5, c5, kernel=5, padding=2))
  pool = relu(conv2d(max_pool(x, kernel=3, stride=1, padding=1), projection, kernel=1))
  return concat([b1, b3, b5, pool], axis=1)
}

block auxiliary_loss(x, y, classes, dropout) {
  conv = relu(conv2d(avg_pool(x, kernel=5, stride=3), 128, kernel=1))
  fc = relu(linear(flatten(conv), 1024))
  logits = linear(dropout(fc, dropout), classes)
  return 0.3 * cross_entropy(logits, y)
}

network googlenet(batch=32, image=224, classes=1000, dropout=0.4, auxiliary=true, auxiliary_dropout=0.7) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = relu(conv2d(x, 64, kernel=7, stride=2, padding=3))
  norm1 = local_response_norm(max_pool(conv1, kernel=3, stride=2, ceil_mode=true), 5)
  reduce2 = relu(conv2d(norm1, 64, kernel=1))
  norm2 = local_response_norm(relu(conv2d(reduce2, 192, kernel=3, padding=1)), 5)
  pool2 = max_pool(norm2, kernel=3, stride=2, ceil_mode=true)

  inception3a = inception(pool2, 64, 96, 128, 16, 32, 32)
  inception3b = inception(inception3a, 128, 128, 192, 32, 96, 64)
  pool3 = max_pool(inception3b, kernel=3, stride=2, ceil_mode=true)
  inception4a = inception(pool3, 192, 96, 208, 16, 48, 64)
  inception4b = inception(inception4a, 160, 112, 224, 24, 64, 64)
  inception4c = inception(inception4b, 128, 128, 256, 24, 64, 64)
  inception4d = inception(inception4c, 112, 144, 288, 32, 64, 64)
  inception4e = inception(inception4d, 256, 160, 320, 32, 128, 128)
  pool4 = max_pool(inception4e, kernel=3, stride=2, ceil_mode=true)
  inception5a = inception(pool4, 256, 160, 320, 32, 128, 128)
  inception5b = inception(inception5a, 384, 192, 384, 48, 128, 128)

  features = dropout(global_avg_pool(inception5b), dropout)
  logits = linear(features, classes)
  loss cross_entropy(logits, y)
  if auxiliary {
    aux1 = auxiliary_loss(inception4a, y, classes, auxiliary_dropout)
    aux2 = auxiliary_loss(inception4d, y, classes, auxiliary_dropout)
    loss aux1 + aux2
  }
  output logits
  optimizer sgd(lr=0.01, momentum=0.9, weight_decay=2e-4)
}
