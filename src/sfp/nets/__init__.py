"""Network parts shared by priors and agents."""
