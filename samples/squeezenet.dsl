# SqueezeNet for ImageNet (Iandola et al., 2016)
#
# Iandola, Han, Moskewicz, Ashraf, Dally, Keutzer, "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and
# <0.5MB model size", arXiv:1602.07360, table 1. 1,248,424 parameters, 0.819 GMAC an image of 224 x 224.
# `variant="v1_1"` is the authors' later network of a third of the work: 1,235,496 parameters, 0.349 GMAC. Batch and
# optimizer are torchvision's for one device.
block fire(x, squeezed, expanded) {
  squeeze = relu(conv2d(x, squeezed, kernel=1))
  expand1 = relu(conv2d(squeeze, expanded, kernel=1))
  expand3 = relu(conv2d(squeeze, expanded, kernel=3, padding=1))
  return concat([expand1, expand3], axis=1)
}

block pool(x) {
  return max_pool(x, kernel=3, stride=2, ceil_mode=true)
}

network squeezenet(batch=32, image=224, classes=1000, dropout=0.5, variant="v1_0") {
  input  x: f32[batch, 3, image, image]
  labels y: i32[batch]

  if variant != "v1_0" and variant != "v1_1" { error "variant is v1_0 or v1_1" }
  early = variant == "v1_1"
  conv1 = relu(conv2d(x, 64 if early else 96, kernel=3 if early else 7, stride=2))
  pool1 = pool(conv1)
  fire2 = fire(pool1, 16, 64)
  fire3 = fire(fire2, 16, 64)
  pool3 = pool(fire3) if early else fire3
  fire4 = fire(pool3, 32, 128)
  pool4 = fire4 if early else pool(fire4)
  fire5 = fire(pool4, 32, 128)
  pool5 = pool(fire5) if early else fire5
  fire6 = fire(pool5, 48, 192)
  fire7 = fire(fire6, 48, 192)
  fire8 = fire(fire7, 64, 256)
  pool8 = fire8 if early else pool(fire8)
  fire9 = fire(pool8, 64, 256)

  conv10 = relu(conv2d(dropout(fire9, dropout), classes, kernel=1))
  logits = global_avg_pool(conv10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.9, weight_decay=1e-4)
}
