# NeuMF, neural collaborative filtering (He et al., 2017)
#
# He, Liao, Zhang, Nie, Hu, Chua, "Neural Collaborative Filtering", WWW 2017, section 3.4, with the sizes of MLPerf's
# benchmark for MovieLens 20M: 64 factors, layers of 256, 256, 128 and 64. 31,832,577 parameters, of which 31,725,504
# in the tables. `liked` is 1 for what the user has seen. The optimizer has MLPerf's constants.
network ncf(batch=65536, users=138493, items=26744, factors=64, widths=[256, 256, 128, 64]) {
  input user: i32[batch]
  input item: i32[batch]
  input liked: f32[batch, 1]

  user_factors = embedding(user, users, factors)
  item_factors = embedding(item, items, factors)
  gmf = user_factors * item_factors

  user_vector = embedding(user, users, widths[0] // 2)
  item_vector = embedding(item, items, widths[0] // 2)
  mlp = concat([user_vector, item_vector], axis=1)
  for i in 1..len(widths) { mlp = relu(linear(mlp, widths[i])) }

  logits = linear(concat([gmf, mlp], axis=1), 1)
  loss binary_cross_entropy_with_logits(logits, liked)
  optimizer adam(lr=0.0045, beta1=0.25, beta2=0.5)
}
