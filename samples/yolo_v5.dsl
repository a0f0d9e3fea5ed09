# YOLOv5 to find objects of COCO (Jocher et al., 2022)
#
# Jocher et al., github.com/ultralytics/yolov5, release 6.1: layers, anchors, loss and optimizer of yolov5l. 46,563,709
# parameters, 54.5 GMAC an image of 640 x 640; `width` is that of the stem, `depth` the length of the shortest stage.
# For maps of an 8th, 16th and 32nd of the image, `kinds` has for each anchor and cell the class of the object that it
# is to find, -1 for none, and `boxes` the object's centre from the cell's corner, width and height, in cells. Boxes are
# judged by their generalised overlap, as in the first releases.
block layer(x, channels, kernel=1, stride=1, padding=0) {
  conv = conv2d(x, channels, kernel=kernel, stride=stride, padding=padding, bias=false)
  bn = batch_norm(conv, eps=1e-3, momentum=0.03)
  return silu(bn)
}

block c3(x, channels, repeats, shortcut=false) {
  cv1 = layer(x, channels // 2)
  h = cv1
  for i in 0..repeats {
    reduce = layer(h, channels // 2)
    expand = layer(reduce, channels // 2, 3, 1, 1)
    h = h + expand if shortcut else expand
  }
  cv2 = layer(x, channels // 2)
  cv3 = layer(concat([h, cv2], axis=1), channels)
  return cv3
}

block sppf(x, channels) {
  cv1 = layer(x, channels // 2)
  pool1 = max_pool(cv1, kernel=5, stride=1, padding=2)
  pool2 = max_pool(pool1, kernel=5, stride=1, padding=2)
  pool3 = max_pool(pool2, kernel=5, stride=1, padding=2)
  cv2 = layer(concat([cv1, pool1, pool2, pool3], axis=1), channels)
  return cv2
}

# The outputs of a map and their loss; anchors are [width, height, ...] in cells.
block detect(x, kinds, boxes, classes, anchors, balance) {
  batch, cells, count = [shape(x)[0], shape(x)[2], len(anchors) // 2]
  conv = conv2d(x, count * (5 + classes), kernel=1)
  outputs = transpose(reshape(conv, [batch, count, 5 + classes, cells, cells]), [0, 1, 3, 4, 2])
  place, extent, confidence, logits = split(outputs, [2, 2, 1, classes], axis=-1)
  numbers = []
  for a in anchors { numbers = numbers + [full([1], a)] }
  centre = 2.0 * sigmoid(place) - 0.5
  size = (sigmoid(extent) * 2.0) ** 2 * reshape(concat(numbers, axis=0), [count, 1, 1, 2])
  iou = box_iou(concat([centre, size], axis=-1), boxes, generalised=true)

  responsible = cast(kinds >= 0, to=f32)
  share = responsible / max(sum(responsible), 1.0)
  box_loss = 0.05 * sum((1.0 - iou) * share)
  target = detach(relu(iou)) * responsible
  confidence_loss = balance * binary_cross_entropy_with_logits(squeeze(confidence, -1), target)
  errors = softplus(logits) - logits * one_hot(max(kinds, 0), classes)
  class_loss = 0.5 * sum(mean(errors, -1) * share)
  losses = stack([box_loss, confidence_loss, class_loss])
  return outputs, sum(losses) * batch
}

network yolo_v5(batch=16, image=640, classes=80, width=64, depth=3) {
  cells = image // 8
  input  x: f32[batch, 3, image, image]
  labels kinds8: i32[batch, 3, cells, cells]
  labels kinds16: i32[batch, 3, cells // 2, cells // 2]
  labels kinds32: i32[batch, 3, cells // 4, cells // 4]
  input  boxes8: f32[batch, 3, cells, cells, 4]
  input  boxes16: f32[batch, 3, cells // 2, cells // 2, 4]
  input  boxes32: f32[batch, 3, cells // 4, cells // 4, 4]

  stem = layer(x, width, 6, 2, 2)
  stage1 = c3(layer(stem, 2 * width, 3, 2, 1), 2 * width, depth, shortcut=true)
  stage2 = c3(layer(stage1, 4 * width, 3, 2, 1), 4 * width, 2 * depth, shortcut=true)
  stage3 = c3(layer(stage2, 8 * width, 3, 2, 1), 8 * width, 3 * depth, shortcut=true)
  stage4 = c3(layer(stage3, 16 * width, 3, 2, 1), 16 * width, depth, shortcut=true)
  sppf = sppf(stage4, 16 * width)
  narrow32 = layer(sppf, 8 * width)
  down16 = c3(concat([upsample(narrow32, scale=2), stage3], axis=1), 8 * width, depth)
  narrow16 = layer(down16, 4 * width)
  map8 = c3(concat([upsample(narrow16, scale=2), stage2], axis=1), 4 * width, depth)
  up16 = layer(map8, 4 * width, 3, 2, 1)
  map16 = c3(concat([up16, narrow16], axis=1), 8 * width, depth)
  up32 = layer(map16, 8 * width, 3, 2, 1)
  map32 = c3(concat([up32, narrow32], axis=1), 16 * width, depth)

  found8, loss8 = detect(map8, kinds8, boxes8, classes, [1.25, 1.625, 2.0, 3.75, 4.125, 2.875], 4.0)
  found16, loss16 = detect(map16, kinds16, boxes16, classes, [1.875, 3.8125, 3.875, 2.8125, 3.6875, 7.4375], 1.0)
  found32, loss32 = detect(map32, kinds32, boxes32, classes, [3.625, 2.8125, 4.875, 6.1875, 11.65625, 10.1875], 0.4)
  output found8
  output found16
  output found32
  loss sum(stack([loss8, loss16, loss32]))
  optimizer sgd(lr=0.01, momentum=0.937, weight_decay=5e-4, nesterov=true)
}
