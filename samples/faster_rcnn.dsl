# Faster R-CNN on ResNet-50 to find objects of Pascal VOC (Ren et al., 2015)
#
# Ren, He, Girshick, Sun, "Faster R-CNN: Towards Real-Time Object Detection with Region Proposal Networks", NIPS 2015,
# on ResNet-50 as in He et al., CVPR 2016, appendix A: conv1 to conv4 are shared, conv5 is the head on each region. As
# in torchvision's ResNet-50 a bottleneck has its stride on the 3x3; all normalisation is trained. `proposed` is for
# each anchor 1 (an object), 0 (none) or -1 (not sampled), `moves` are the boxes that anchors should give; `rois` are
# sampled proposals [image, x1, y1, x2, y2] with their classes, 0 for none, and boxes. All are made outside, so that no
# gradient passes through a proposal. `head=false` trains the region proposal network alone, step 1 of the paper's
# alternating training.
block bottleneck(x, width, stride) {
  shortcut = x
  if stride != 1 or shape(x)[1] != 4 * width {
    project = conv2d(x, 4 * width, kernel=1, stride=stride, bias=false)
    shortcut = batch_norm(project)
  }
  conv1 = conv2d(x, width, kernel=1, bias=false)
  bn1 = batch_norm(conv1)
  relu1 = relu(bn1)
  conv2 = conv2d(relu1, width, kernel=3, stride=stride, padding=1, bias=false)
  bn2 = batch_norm(conv2)
  relu2 = relu(bn2)
  conv3 = conv2d(relu2, 4 * width, kernel=1, bias=false)
  bn3 = batch_norm(conv3)
  relu3 = relu(bn3 + shortcut)
  return relu3
}

block stage(x, width, blocks, stride) {
  for i in 0..blocks { x = bottleneck(x, width, stride if i == 0 else 1) }
  return x
}

# Equation 1 of the paper: the losses of scores and boxes [batch, 2 or 4, anchors, height, width].
block proposal_loss(scores, boxes, proposed, moves) {
  logits = transpose(scores, [0, 2, 3, 4, 1])
  score_loss = cross_entropy(logits, proposed, ignore_index=-1)
  wanted = cast(unsqueeze(equal(proposed, 1), 1), to=f32)
  wanted_moves = moves * wanted
  distance = smooth_l1_loss(boxes * wanted, wanted_moves, beta=1.0 / 9, reduction=sum)
  sampled = cast(proposed >= 0, to=f32)
  losses = stack([score_loss, distance / max(sum(sampled), 1.0)])
  return sum(losses)
}

# The classes of regions and the boxes of their true class.
block region_loss(logits, boxes, kinds, moves) {
  regions, classes = shape(logits)
  wanted = unsqueeze(one_hot(kinds, classes) * cast(unsqueeze(kinds > 0, 1), to=f32), -1)
  chosen = sum(reshape(boxes, [regions, classes, 4]) * wanted, 1)
  distance = smooth_l1_loss(chosen, moves * sum(wanted, 1), reduction=sum) / regions
  losses = stack([cross_entropy(logits, kinds), distance])
  return sum(losses)
}

network faster_rcnn(batch=1, image=600, classes=21, anchors=9, regions=128, head=true) {
  input x: f32[batch, 3, image, image]

  conv1 = conv2d(x, 64, kernel=7, stride=2, padding=3, bias=false)
  bn1 = batch_norm(conv1)
  relu1 = relu(bn1)
  pool1 = max_pool(relu1, kernel=3, stride=2, padding=1)
  stage1 = stage(pool1, 64, blocks=3, stride=1)
  stage2 = stage(stage1, 128, blocks=4, stride=2)
  stage3 = stage(stage2, 256, blocks=6, stride=2)

  size = shape(stage3)[2]
  labels proposed: i32[batch, anchors, size, size]
  input  moves: f32[batch, 4, anchors, size, size]
  rpn = relu(conv2d(stage3, 512, kernel=3, padding=1))
  scores = conv2d(rpn, 2 * anchors, kernel=1)
  boxes = conv2d(rpn, 4 * anchors, kernel=1)
  output scores
  output boxes
  proposals = reshape(scores, [batch, 2, anchors, size, size])
  loss proposal_loss(proposals, reshape(boxes, [batch, 4, anchors, size, size]), proposed, moves)

  if head {
    input  rois: f32[regions * batch, 5]
    labels kinds: i32[regions * batch]
    input  region_moves: f32[regions * batch, 4]
    crops = roi_align(stage3, rois, [14, 14], scale=1.0 / 16)
    stage4 = stage(crops, 512, blocks=3, stride=2)
    features = global_avg_pool(stage4)
    logits = linear(features, classes)
    region_boxes = linear(features, 4 * classes)
    output logits
    output region_boxes
    loss region_loss(logits, region_boxes, kinds, region_moves)
  }
  optimizer sgd(lr=0.001, momentum=0.9, weight_decay=5e-4)
}
