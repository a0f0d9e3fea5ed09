# DLRM, a recommendation model (Naumov et al., 2019)
#
# Naumov, Mudigere, Shi, et al., "Deep Learning Recommendation Model for Personalization and Recommendation Systems",
# arXiv:1906.00091, with the sizes of the authors' benchmark for the Criteo Kaggle data: 13 numbers and 26 categories a
# sample, one index each. 540,677,217 parameters, of which 540,201,232 in the tables. Gradients of the tables are dense
# here: every row is written and updated in each step.
block mlp(x, widths) {
  for w in widths { x = relu(linear(x, w)) }
  return x
}

network dlrm(
  batch=2048,
  size=16,
  bottom=[512, 256, 64],
  top=[512, 256],
  tables=[
    1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10, 5652,
    2173, 4, 7046547, 18, 15, 286181, 105, 142572
  ],
) {
  input numbers: f32[batch, 13]
  input categories: i32[len(tables), batch]
  input clicked: f32[batch, 1]

  ids = unbind(categories)
  features = [mlp(numbers, bottom + [size])]
  for i in 0..len(tables) {
    table = embedding(ids[i], tables[i], size)
    features = features + [table]
  }
  interaction = dot_interaction(features)
  top = mlp(concat([features[0], interaction], axis=1), top)
  logits = linear(top, 1)
  loss binary_cross_entropy_with_logits(logits, clicked)
  optimizer sgd(lr=0.1)
}
