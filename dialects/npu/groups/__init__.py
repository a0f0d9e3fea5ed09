"""Operations that run by micro-batches of samples: `npu.group`, and what it holds in SPM meanwhile."""
