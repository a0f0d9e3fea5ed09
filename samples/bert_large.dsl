# BERT-large fine-tuned to classify sequences (Devlin et al., 2019)
#
# Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
# NAACL 2019, uncased: 24 layers of width 1024. 335,141,888 parameters with the pooler, 2,050 more in the classifier;
# 39.46 GMAC a sequence of 128 tokens. Inputs, batch, length and optimizer are those of `samples:bert_base`.
import "_bert.dsl"

network bert_large(
  batch=32, length=128, classes=2, layers=24, width=1024, heads=16, hidden=4096, vocabulary=30522, max_length=512,
  dropout=0.1, joint=false
) {
  input  tokens: i32[batch, length]
  input  segments: i32[batch, length]
  input  positions: i32[length]
  labels y: i32[batch]

  embeddings = embeddings(tokens, segments, positions, vocabulary, max_length, width, dropout)
  encoder = encoder_stack(embeddings, layers, heads, hidden, dropout, joint)

  first = slice(encoder, axis=1, stop=1)
  pooler = linear(flatten(first), width)
  logits = linear(dropout(tanh(pooler), dropout), classes)
  loss cross_entropy(logits, y)
  optimizer adamw(lr=2e-5, eps=1e-6, weight_decay=0.01)
}
