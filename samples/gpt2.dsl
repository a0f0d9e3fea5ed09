# GPT-2 small, a language model (Radford et al., 2019)
#
# Radford, Wu, Child, Luan, Amodei, Sutskever, "Language Models are Unsupervised Multitask Learners", 2019, table 2.
# The output layer shares the table of the words. 124,439,808 parameters, 145.8 GMAC a sequence of 1,024 tokens. The
# larger ones: `layers=24 width=1024 heads=16` (medium), `36 1280 20` (large), `48 1600 25` (XL). `y` are the next
# tokens. The constants of AdamW are those of GPT-3 (Brown et al., 2020).
block layer(x, heads, dropout) {
  width = shape(x)[2]
  norm1 = layer_norm(x)
  attention = multi_head_attention(norm1, heads, causal=true, dropout=dropout)
  residual1 = x + dropout(attention, dropout)
  norm2 = layer_norm(residual1)
  fc1 = linear(norm2, 4 * width)
  fc2 = linear(gelu(fc1, approximate=tanh), width)
  residual2 = residual1 + dropout(fc2, dropout)
  return residual2
}

block stack_of(x, layers, heads, dropout) {
  for i in 0..layers { x = layer(x, heads, dropout) }
  return x
}

network gpt2(batch=8, length=1024, layers=12, width=768, heads=12, vocabulary=50257, max_length=1024, dropout=0.1) {
  input  tokens: i32[batch, length]
  labels y: i32[batch, length]

  wte = param([vocabulary, width])
  wpe = param([max_length, width])
  word = embedding(tokens, weight=wte)
  position = slice(wpe, 0, 0, length)
  x = dropout(word + position, dropout)
  h = stack_of(x, layers, heads, dropout)
  norm = layer_norm(h)
  logits = matmul(norm, wte, transpose_b=true)
  loss cross_entropy(logits, y)
  optimizer adamw(lr=6e-4, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1)
}
