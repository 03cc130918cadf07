"""State-free priors: explore sparse-reward control from recorded actions alone."""

from sfp import envs as envs  # registers the tasks with Gymnasium
