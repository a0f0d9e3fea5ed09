# Multi-head attention (Vaswani et al., 2017), for import
#
# "Attention Is All You Need", NeurIPS 2017, section 3.2.2.

# From [batch, length, width] to [batch, heads, length, width / heads].
block split_heads(x, heads) {
  batch, length, width = shape(x)
  return transpose(reshape(x, [batch, length, heads, width / heads]), [0, 2, 1, 3])
}

# From [batch, heads, length, size] to [batch, length, heads * size].
block merge_heads(x) {
  batch, heads, length, size = shape(x)
  return reshape(transpose(x, [0, 2, 1, 3]), [batch, length, heads * size])
}

# Queries are made from q_in [batch, m, width], keys and values from kv_in [batch, n, width]: self-attention where both
# are the same. `dropout` is the part of the attention weights that training drops.
block attention(q_in, kv_in, heads, dropout=0.0) {
  width = shape(q_in)[2]
  q = linear(q_in, width)
  k = linear(kv_in, width)
  v = linear(kv_in, width)
  query = split_heads(q * (1 / sqrt(width / heads)), heads)
  key = split_heads(k, heads)
  value = split_heads(v, heads)
  scores = matmul(query, key, transpose_b=true)
  weights = dropout(softmax(scores), dropout)
  context = merge_heads(matmul(weights, value))
  out = linear(context, width)
  return out
}
