# BERT-base fine-tuned to classify sequences (Devlin et al., 2019)
#
# Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
# NAACL 2019, uncased. 109,482,240 parameters with the pooler, 1,538 more in the classifier; 11.17 GMAC a sequence of
# 128 tokens. Batch, length and optimizer are as published for GLUE (appendix A.3 and the authors' run_classifier).
# `positions` are 0, 1, …, length - 1; `max_length` is the size of their table. Sequences are full: nothing is masked.
# `joint=true` makes queries, keys and values by one product. `layers=4`, `width=312`, `heads=12`, `hidden=1200` is
# TinyBERT (Jiao et al., 2020); BERT-large is `samples:bert_large`.
import "_bert.dsl"

network bert_base(
  batch=32, length=128, classes=2, layers=12, width=768, heads=12, hidden=3072, vocabulary=30522, max_length=512,
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
