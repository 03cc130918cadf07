"""Action priors: learn them, trust their densities, keep them."""
