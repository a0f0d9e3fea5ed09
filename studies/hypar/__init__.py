"""The study of hybrid parallelism: ten networks on 16 accelerators (Song et al., "HyPar", HPCA 2019)."""
