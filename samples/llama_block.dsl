# A decoder layer of LLaMA-7B (Touvron et al., 2023)
#
# Touvron, Lavril, Izacard, et al., "LLaMA: Open and Efficient Foundation Language Models", 2023, section 2.2 and table
# 2: normalisation by the mean square before each sublayer, rotary positions, SwiGLU, no biases. 202,383,360
# parameters; 32 such layers, two tables of 32,000 x 4,096 and a last normalisation are the 6,738,415,616 of the model.
# `layers` is the number of layers, `kv_heads` below `heads` groups queries as in the later models (`width=8192
# heads=64 kv_heads=8 hidden=28672` is Llama 2 70B). The optimizer has the paper's constants.
block layer(x, heads, kv_heads, hidden) {
  width = shape(x)[2]
  norm1 = rms_norm(x, eps=1e-6)
  attention = multi_head_attention(norm1, heads, causal=true, bias=false, kv_heads=kv_heads, rotary=true)
  residual1 = x + attention
  norm2 = rms_norm(residual1, eps=1e-6)
  gate = linear(norm2, hidden, bias=false)
  up = linear(norm2, hidden, bias=false)
  down = linear(silu(gate) * up, width, bias=false)
  residual2 = residual1 + down
  return residual2
}

network llama_block(batch=1, length=2048, layers=1, width=4096, heads=32, kv_heads=32, hidden=11008) {
  input x: f32[batch, length, width]
  input expected: f32[batch, length, width]
  h = x
  for i in 0..layers { h = layer(h, heads, kv_heads, hidden) }
  loss mse(h, expected)
  optimizer adamw(lr=3e-4, beta1=0.9, beta2=0.95, weight_decay=0.1)
}
