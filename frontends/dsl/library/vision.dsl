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
