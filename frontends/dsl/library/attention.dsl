# softmax(query keyᵀ * scale) value, for each head. The query is [batch, heads, m, size], key and value are [batch,
# heads, n, size]; with fewer heads, each of them serves a group of those of the query. A boolean `mask` that
# broadcasts to [batch, heads, m, n] is true where a query may look, any other is added to the scores; with `causal`
# query i sees keys 0 to i. `scale` is 1 / sqrt(size) by default.
block scaled_dot_product_attention(query, key, value, mask=none, causal=false, dropout=0.0, scale=none) {
  if len(shape(query)) != 4 { error "found ", query, ", expected [batch, heads, length, size]" }
  if not _is_real(query) { error "found ", query, ", expected floating point" }
  batch, heads, m, size = shape(query)
  if len(shape(key)) != 4 { error "found ", key, ", expected [batch, heads, length, size]" }
  if type(key) != type(query) { error "found ", key, ", expected the element type of the query" }
  kv_heads, n = [shape(key)[1], shape(key)[2]]
  if shape(key) != [batch, kv_heads, n, size] {
    error "found ", key, ", expected the batch and size of the query, ", batch, " and ", size
  }
  if heads % kv_heads != 0 { error "found ", key, ", expected a number of heads that divides ", heads }
  if len(shape(value)) != 4 { error "found ", value, ", expected [batch, heads, length, size]" }
  if type(value) != type(query) { error "found ", value, ", expected the element type of the query" }
  if shape(value) != [batch, kv_heads, n, shape(value)[3]] {
    error "found ", value, ", expected the batch, heads and length of the key, ", [batch, kv_heads, n]
  }
  if scale == none { scale = 1 / sqrt(size) }
  if type(scale) != "float" and type(scale) != "integer" { error "found ", scale, ", expected a number" }
  scaled = query if scale == 1 else query * scale
  return _attend(scaled, key, value, mask, causal, dropout)
}

# Attention over x [batch, length, width] in parallel heads, with linear layers q, k, v and out. Keys and values are
# made from `memory` [batch, n, …], by default from x. With `kv_heads` below `heads`, groups of heads share keys and
# values. `rotary` turns queries and keys by their positions. A head has `size` elements, width / heads by default.
# With `joint` one layer qkv makes queries, keys and values of x. `weight` shares the weights [q, k, v, out], or with
# `joint` [qkv, out], made by `param`. All else as in scaled_dot_product_attention and rotary_embedding.
block multi_head_attention(
  x, heads, memory=none, mask=none, causal=false, dropout=0.0, bias=true, kv_heads=none, size=none, scale=none,
  rotary=false, base=10000.0, interleaved=false, weight=none, joint=false, scaling=none
) {
  if len(shape(x)) != 3 { error "found ", x, ", expected [batch, length, width]" }
  if not _is_real(x) { error "found ", x, ", expected floating point" }
  batch, length, width = shape(x)
  if joint and memory != none { error "found ", memory, ", expected none with joint=true" }
  if memory == none { memory = x }
  if len(shape(memory)) != 3 { error "found ", memory, ", expected [batch, length, width]" }
  if type(memory) != type(x) { error "found ", memory, ", expected the element type of x" }
  if shape(memory)[0] != batch { error "found ", memory, ", expected a batch of ", batch }
  if type(heads) != "integer" or heads < 1 { error "found ", heads, ", expected a positive integer" }
  if size == none {
    if width % heads != 0 { error "found ", heads, ", expected a divisor of the width, ", width }
    size = width // heads
  }
  if type(size) != "integer" or size < 1 { error "found ", size, ", expected a positive integer" }
  if rotary and size % 2 != 0 { error "found heads of size ", size, ", expected an even size for rotary" }
  if kv_heads == none { kv_heads = heads }
  if type(kv_heads) != "integer" or kv_heads < 1 { error "found ", kv_heads, ", expected a positive integer" }
  if heads % kv_heads != 0 { error "found ", kv_heads, ", expected a divisor of the heads, ", heads }
  if scale == none { scale = 1 / sqrt(size) }
  if type(scale) != "float" and type(scale) != "integer" { error "found ", scale, ", expected a number" }
  if weight == none { weight = [none, none] if joint else [none, none, none, none] }
  if type(weight) != "list" { error "found ", weight, ", expected a list [q, k, v, out]" }
  if joint and len(weight) != 2 { error "found ", len(weight), " weights, expected two, [qkv, out]: ", weight }
  if not joint and len(weight) != 4 { error "found ", len(weight), " weights, expected four, [q, k, v, out]: ", weight }

  if joint {
    qkv = linear(x, (heads + 2 * kv_heads) * size, bias, weight[0])
    q, k, v = split(qkv, [heads * size, kv_heads * size, kv_heads * size], axis=2)
  } else {
    q = linear(x, heads * size, bias, weight[0])
    k = linear(memory, kv_heads * size, bias, weight[1])
    v = linear(memory, kv_heads * size, bias, weight[2])
  }
  query = _split_heads(q if scale == 1 else q * scale, heads)
  key = _split_heads(k, kv_heads)
  value = _split_heads(v, kv_heads)
  if rotary {
    rotary_query = rotary_embedding(query, base, interleaved, scaling=scaling)
    rotary_key = rotary_embedding(key, base, interleaved, scaling=scaling)
    query, key = [rotary_query, rotary_key]
  }
  return _attend(query, key, value, mask, causal, dropout, width, bias, weight[-1])
}

# The attention of scaled queries, with `width` followed by a linear layer over all heads.
block _attend(query, key, value, mask, causal, dropout, width=none, bias=true, weight=none) {
  batch, heads, m, size = shape(query)
  kv_heads, n = [shape(key)[1], shape(key)[2]]
  # the queries of heads that share a key are rows of one product, so that nothing is copied
  if kv_heads != heads {
    grouped_query = reshape(query, [batch, kv_heads, -1, size])
    query = grouped_query
  }
  scores = matmul(query, key, transpose_b=true)
  if kv_heads != heads {
    single_scores = reshape(scores, [batch, heads, m, n])
    scores = single_scores
  }
  masked = _masked(scores, mask, causal)
  weights = dropout(softmax(masked), dropout)
  if kv_heads != heads {
    grouped_weights = reshape(weights, [batch, kv_heads, -1, n])
    weights = grouped_weights
  }
  context = matmul(weights, value)
  if kv_heads != heads {
    single_context = reshape(context, [batch, heads, m, -1])
    context = single_context
  }
  if width == none { return context }
  merged = reshape(transpose(context, [0, 2, 1, 3]), [batch, m, -1])
  out = linear(merged, width, bias, weight)
  return out
}

# Scores [batch, heads, m, n], those that a query must not see so low that their weight is 0.
block _masked(scores, mask, causal) {
  m, n = [shape(scores)[2], shape(scores)[3]]
  lowest = -6e4 if type(scores) == "f16" else -1e30
  if mask != none {
    expected = shape(scores)
    rank = len(shape(mask))
    if rank > 4 { error "found ", mask, ", expected a shape that broadcasts to ", expected }
    for i in 0..rank {
      if shape(mask)[i] != 1 and shape(mask)[i] != expected[i - rank] {
        error "found ", mask, ", expected a shape that broadcasts to ", expected
      }
    }
    if type(mask) == "bool" {
      if causal { mask = logical_and(mask, causal_mask(m, n)) }
      return where(mask, scores, lowest)
    }
    if type(mask) != type(scores) { error "found ", mask, ", expected bool or the element type of x" }
    scores = scores + mask
  }
  return where(causal_mask(m, n), scores, lowest) if causal else scores
}

block _is_real(x) {
  return type(x) == "f32" or type(x) == "f64" or type(x) == "bf16" or type(x) == "f16"
}

# From [batch, length, heads * size] to [batch, heads, length, size].
block _split_heads(x, heads) {
  batch, length, width = shape(x)
  return transpose(reshape(x, [batch, length, heads, width // heads]), [0, 2, 1, 3])
}
