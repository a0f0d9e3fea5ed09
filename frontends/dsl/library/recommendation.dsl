# The dot products of all pairs of the features, tensors [batch, size], as one tensor [batch, pairs] (Naumov et al.,
# 2019): feature i with j for j < i, in order of i, then j; with `self_interaction` also each with itself.
block dot_interaction(features, self_interaction=false) {
  if type(features) != "list" { error "found ", features, ", expected a list of tensors [batch, size]" }
  count = len(features)
  if count < 2 and not self_interaction { error "found ", features, ", expected at least two features" }
  stacked = stack(features, 1)
  if len(shape(stacked)) != 3 { error "found ", features, ", expected tensors [batch, size]" }
  batch = shape(stacked)[0]
  products = matmul(stacked, stacked, transpose_b=true)
  pairs = []
  for i in 0..count {
    for j in 0..i + (1 if self_interaction else 0) { pairs = pairs + [i * count + j] }
  }
  return index_select(reshape(products, [batch, count * count]), pairs, 1)
}
