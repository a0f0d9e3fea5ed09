"""The study `digamma`: machines and mappings searched together, beside general optimisers (Kao et al., DATE 2022)."""
