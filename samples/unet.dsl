# U-Net for segmentation (Ronneberger et al., 2015)
#
# Ronneberger, Fischer, Brox, "U-Net: Convolutional Networks for Biomedical Image Segmentation", MICCAI 2015, figure 1:
# convolutions without padding turn an image of 572 x 572 into a map of 388 x 388. 31,030,658 parameters, 150.4 GMAC an
# image. `padding=1` keeps the size, as many implementations do. One image a step and momentum 0.99 as in the paper.
block double_conv(x, channels, padding) {
  conv1 = relu(conv2d(x, channels, kernel=3, padding=padding))
  conv2 = relu(conv2d(conv1, channels, kernel=3, padding=padding))
  return conv2
}

block crop(x, size) {
  before = (shape(x)[2] - size) // 2
  rows = slice(x, 2, before, before + size)
  return slice(rows, 3, before, before + size)
}

block up(x, skip, padding) {
  channels = shape(x)[1] // 2
  upsampled = conv_transpose2d(x, channels, kernel=2, stride=2)
  joined = concat([crop(skip, shape(upsampled)[2]), upsampled], axis=1)
  conv = double_conv(joined, channels, padding)
  return conv
}

network unet(batch=1, image=572, inputs=1, classes=2, width=64, dropout=0.5, padding=0) {
  if image % 16 != (12 if padding == 0 else 0) { error "four poolings need image = 16 n + 12 (16 n with padding=1)" }
  size = image - 184 if padding == 0 else image
  input  x: f32[batch, inputs, image, image]
  labels y: i32[batch, size, size]

  down1 = double_conv(x, width, padding)
  down2 = double_conv(max_pool(down1, kernel=2), 2 * width, padding)
  down3 = double_conv(max_pool(down2, kernel=2), 4 * width, padding)
  down4 = double_conv(max_pool(down3, kernel=2), 8 * width, padding)
  bottom = dropout(double_conv(max_pool(down4, kernel=2), 16 * width, padding), dropout)
  up4 = up(bottom, down4, padding)
  up3 = up(up4, down3, padding)
  up2 = up(up3, down2, padding)
  up1 = up(up2, down1, padding)

  scores = conv2d(up1, classes, kernel=1)
  logits = transpose(scores, [0, 2, 3, 1])
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.01, momentum=0.99)
}
