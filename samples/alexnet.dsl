# AlexNet with one tower for ImageNet (Krizhevsky, 2014)
#
# Krizhevsky, "One weird trick for parallelizing convolutional neural networks", arXiv:1404.5997, as in torchvision; the
# network of 2012 has two towers and 61.0 M parameters. 61,100,840 parameters, 0.714 GMAC an image of 224 x 224. Another
# `image` (at least 63) changes the size of fc6. Batch and optimizer are torchvision's for one device.
network alexnet(batch=32, image=224, classes=1000, dropout=0.5) {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  conv1 = conv2d(x, 64, kernel=11, stride=4, padding=2)
  pool1 = max_pool(relu(conv1), kernel=3, stride=2)
  conv2 = conv2d(pool1, 192, kernel=5, padding=2)
  pool2 = max_pool(relu(conv2), kernel=3, stride=2)
  conv3 = conv2d(pool2, 384, kernel=3, padding=1)
  conv4 = conv2d(relu(conv3), 256, kernel=3, padding=1)
  conv5 = conv2d(relu(conv4), 256, kernel=3, padding=1)
  pool5 = max_pool(relu(conv5), kernel=3, stride=2)

  features = dropout(flatten(pool5), dropout)
  fc6 = linear(features, 4096)
  drop6 = dropout(relu(fc6), dropout)
  fc7 = linear(drop6, 4096)
  logits = linear(relu(fc7), classes)

  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9, weight_decay=1e-4)
}
