# Tiny YOLOv2 to find objects of Pascal VOC (Redmon, Farhadi, 2017)
#
# Redmon, Farhadi, "YOLO9000: Better, Faster, Stronger", CVPR 2017, section 2; layers, anchors, loss and optimizer of
# the authors' yolov2-tiny-voc (darknet). 15,861,773 parameters, 3.49 GMAC an image of 416 x 416. `kinds` has for each
# anchor and cell the class of the object that it is to find, -1 for none; `boxes` has the object's centre in the cell
# and the logarithms of its width and height over those of the anchor. darknet does not blame a box without object that
# overlaps one by more than 0.6; here it is background as the others. `hidden=512`, `classes=80` is the net for COCO.
block layer(x, channels) {
  conv = conv2d(x, channels, kernel=3, padding=1, bias=false)
  bn = batch_norm(conv)
  return leaky_relu(bn, 0.1)
}

# Centre, width and height of each box in cells, from a centre in the cell and logarithms of the size over the anchor's.
block scaled(centre, log_size, anchors) {
  numbers = []
  for a in anchors { numbers = numbers + [full([1], a)] }
  anchor = reshape(concat(numbers, axis=0), [len(anchors) // 2, 1, 1, 2])
  size = exp(log_size) * anchor
  return concat([centre, size], axis=-1)
}

block region_loss(x, kinds, boxes, classes, anchors) {
  cells = shape(x)[2]
  outputs = transpose(reshape(x, [-1, len(anchors) // 2, 5 + classes, cells, cells]), [0, 1, 3, 4, 2])
  place, log_size, confidence, logits = split(outputs, [2, 2, 1, classes], axis=-1)
  centre = sigmoid(place)
  true_centre, true_log_size = split(boxes, 2, axis=-1)
  box = scaled(centre, log_size, anchors)
  true_box = scaled(true_centre, true_log_size, anchors)
  iou = detach(box_iou(box, true_box))

  responsible = kinds >= 0
  centre_error = (centre - true_centre) ** 2
  size_error = (log_size - true_log_size) ** 2
  box_error = sum(centre_error + size_error, -1)
  box_loss = sum(where(responsible, box_error, 0.0)) * 0.5
  sure = sigmoid(squeeze(confidence, -1))
  object_error = (sure - iou) ** 2 * 5.0
  background_error = sure ** 2
  confidence_loss = sum(where(responsible, object_error, background_error)) * 0.5
  class_loss = cross_entropy(logits, kinds, ignore_index=-1, reduction=sum)
  losses = stack([box_loss, confidence_loss, class_loss])
  return sum(losses) / shape(x)[0]
}

network yolo_v2_tiny(
  batch=64, image=416, classes=20, hidden=1024, anchors=[1.08, 1.19, 3.42, 4.41, 6.63, 11.38, 9.42, 5.11, 16.62, 10.52]
) {
  input  x: f32[batch, 3, image, image]
  labels kinds: i32[batch, len(anchors) // 2, image // 32, image // 32]
  input  boxes: f32[batch, len(anchors) // 2, image // 32, image // 32, 4]

  pool = x
  for width in [16, 32, 64, 128, 256] {
    layer = layer(pool, width)
    pool = max_pool(layer, kernel=2)
  }
  layer6 = layer(pool, 512)
  pool6 = max_pool(pad(layer6, [0, 1, 0, 1], mode="replicate"), kernel=2, stride=1)
  layer7 = layer(pool6, 1024)
  layer8 = layer(layer7, hidden)
  conv9 = conv2d(layer8, len(anchors) // 2 * (5 + classes), kernel=1)
  loss region_loss(conv9, kinds, boxes, classes, anchors)
  output conv9
  optimizer sgd(lr=0.001, momentum=0.9, weight_decay=5e-4)
}
