# T5-small, text to text (Raffel et al., 2020)
#
# Raffel, Shazeer, Roberts, et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
# Transformer", JMLR 2020, sections 2.1 and 3.1.1. Attention is not scaled and has no biases; its scores get a bias by
# the distance of the tokens, one for each head, shared by all layers of a stack. Encoder, decoder and output share the
# table of the words. 60,506,624 parameters. `y` are the tokens that follow those of `target`. `joint=true` makes
# queries, keys and values of a sequence's attention to itself by one product. `layers=24`, `width=1024`, `heads=16`,
# `hidden=4096` is T5-large. The paper trains with AdaFactor, here AdamW stands in.

# The bucket of a distance (section 2.1): exact when near, logarithmic up to 128.
block bucket(distance, both_sides) {
  buckets = 16 if both_sides else 32
  after = 16 if both_sides and distance > 0 else 0
  near = abs(distance) if both_sides else max(0 - distance, 0)
  if near < buckets // 2 { return after + near }
  far = floor(log(near * 2.0 / buckets) / log(256 / buckets) * (buckets // 2))
  return after + min(buckets // 2 + far, buckets - 1)
}

# The bias [heads, length, length] that row i adds for column j, a matter of j - i alone: the vector of the biases of
# the distances 0, …, length - 1, -length, …, -1, shifted by one from row to row.
block position_bias(length, heads, both_sides) {
  table = param([32, heads])
  ids = []
  for distance in 0..length { ids = ids + [bucket(distance, both_sides)] }
  for distance in 0 - length..0 { ids = ids + [bucket(distance, both_sides)] }
  biases = transpose(index_select(table, ids, 0), [1, 0])
  rows = slice(repeat(biases, [1, length]), 1, 0, length * (2 * length - 1))
  shifted = reshape(rows, [heads, length, 2 * length - 1])
  return slice(shifted, 2, 0, length)
}

block feed_forward(x, hidden, dropout) {
  wi = linear(x, hidden, bias=false)
  wo = linear(dropout(relu(wi), dropout), shape(x)[2], bias=false)
  return wo
}

block encoder(x, layers, heads, size, hidden, dropout, joint) {
  bias = position_bias(shape(x)[1], heads, true)
  for i in 0..layers {
    norm1 = rms_norm(x, eps=1e-6)
    attention = multi_head_attention(norm1, heads, none, bias, false, dropout, false, none, size, 1, joint=joint)
    residual = x + dropout(attention, dropout)
    feed_forward = feed_forward(rms_norm(residual, eps=1e-6), hidden, dropout)
    x = residual + dropout(feed_forward, dropout)
  }
  norm = rms_norm(x, eps=1e-6)
  return dropout(norm, dropout)
}

block decoder(x, memory, layers, heads, size, hidden, dropout, joint) {
  bias = position_bias(shape(x)[1], heads, false)
  for i in 0..layers {
    norm1 = rms_norm(x, eps=1e-6)
    self_attention = multi_head_attention(norm1, heads, none, bias, true, dropout, false, none, size, 1, joint=joint)
    residual1 = x + dropout(self_attention, dropout)
    norm2 = rms_norm(residual1, eps=1e-6)
    cross_attention = multi_head_attention(norm2, heads, memory, none, false, dropout, false, size=size, scale=1)
    residual2 = residual1 + dropout(cross_attention, dropout)
    feed_forward = feed_forward(rms_norm(residual2, eps=1e-6), hidden, dropout)
    x = residual2 + dropout(feed_forward, dropout)
  }
  norm = rms_norm(x, eps=1e-6)
  return dropout(norm, dropout)
}

network t5_small(
  batch=32, length=512, target_length=114, layers=6, width=512, heads=8, size=64, hidden=2048, vocabulary=32128,
  dropout=0.1, joint=false
) {
  input  source: i32[batch, length]
  input  target: i32[batch, target_length]
  labels y: i32[batch, target_length]

  words = param([vocabulary, width])
  source_words = dropout(embedding(source, weight=words), dropout)
  encoder = encoder(source_words, layers, heads, size, hidden, dropout, joint)
  target_words = dropout(embedding(target, weight=words), dropout)
  decoder = decoder(target_words, encoder, layers, heads, size, hidden, dropout, joint)
  logits = matmul(decoder * (1 / sqrt(width)), words, transpose_b=true)
  loss cross_entropy(logits, y)
  optimizer adamw(lr=1e-3)
}
