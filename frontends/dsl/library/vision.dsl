# The channels of x [batch, channels, …] in another order: the first of each group, the second of each, and so on
# (Zhang et al., 2018), so that the next grouped convolution sees all groups.
block channel_shuffle(x, groups) {
  if len(shape(x)) < 3 { error "found ", x, ", expected [batch, channels, …]" }
  batch, channels = [shape(x)[0], shape(x)[1]]
  if type(groups) != "integer" or groups < 1 { error "found ", groups, ", expected a positive integer" }
  if channels % groups != 0 { error "found ", groups, ", expected a divisor of the channels, ", channels }
  grouped = reshape(x, [batch, groups, channels // groups, -1])
  shuffled = transpose(grouped, [0, 2, 1, 3])
  return reshape(shuffled, shape(x))
}

# The overlap of each box with the one at the same place in `others`, [...]: the area that both cover over the area that
# either covers. Boxes are [..., 4]: the centre's x and y, width and height. `generalised` subtracts the share of the
# smallest box around both that neither covers (Rezatofighi et al., 2019).
block box_iou(boxes, others, generalised=false) {
  rank = len(shape(boxes))
  if rank == 0 { error "found ", boxes, ", expected boxes [..., 4]" }
  if shape(boxes)[-1] != 4 { error "found ", boxes, ", expected boxes [..., 4]" }
  if shape(others) != shape(boxes) { error "found ", others, ", expected the shape of the boxes, ", shape(boxes) }
  centre, size = split(boxes, 2, rank - 1)
  other_centre, other_size = split(others, 2, rank - 1)
  half = size * 0.5
  other_half = other_size * 0.5
  low = centre - half
  other_low = other_centre - other_half
  high = centre + half
  other_high = other_centre + other_half
  common = relu(min(high, other_high) - max(low, other_low))
  both = prod(common, rank - 1)
  area = prod(size, rank - 1)
  other_area = prod(other_size, rank - 1)
  either = area + other_area - both
  overlap = both / either
  if not generalised { return overlap }
  around = prod(max(high, other_high) - min(low, other_low), rank - 1)
  empty = (around - either) / around
  return overlap - empty
}
