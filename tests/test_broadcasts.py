"""No network, model or update lets JAX add axes silently: broadcasts are written out.

Everything is traced only, which takes no compiler.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from probes import linear_prior, random_batch
from sfp.agents.kl import KL
from sfp.agents.sac import SAC
from sfp.agents.sfp import SFP
from sfp.config import Mixture, Networks
from sfp.data.trajectories import assemble
from sfp.observation import Spec
from sfp.priors.base import Frame, Prior
from sfp.priors.batches import DevicePairs, Units
from sfp.priors.conditioning import Conditioning
from sfp.priors.models import MODELS
from sfp.priors.protocols import HasLoss, Settles
from sfp.training.loop import compile_updates

KEY = jax.random.key(0)
SMALL = Networks(width=8, depth=2)


def make_frame(state):
    return Frame(-jnp.ones(2), jnp.ones(2), jnp.zeros(state), jnp.ones(state))


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_rank_promotion("raise"):
        yield


def test_the_check_itself_sees_a_broadcast():
    with pytest.raises(ValueError, match="rank_promotion"):
        jax.eval_shape(lambda: jnp.zeros((3, 2)) + jnp.zeros(2))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model = MODELS[name].build(2, 3, key=KEY)
    actions, contexts = jnp.zeros((5, 2)), jnp.zeros((5, 3))
    keys = jax.random.split(KEY, 5)
    jax.eval_shape(jax.vmap(model.sample), keys, contexts)
    jax.eval_shape(jax.vmap(model.log_prob), actions, contexts)
    if isinstance(model, HasLoss):
        jax.eval_shape(jax.grad(lambda m: m.loss(KEY, actions, contexts)), model)
    if isinstance(model, Settles):
        jax.eval_shape(lambda m: m.settle(actions, contexts), model)
    prior = Prior(
        model, make_frame(1), jnp.zeros((4, 1, 2)), Conditioning(1, state=True)
    )
    jax.eval_shape(jax.vmap(prior.sample), keys, contexts)
    jax.eval_shape(jax.vmap(prior.log_prob), actions, contexts)


@pytest.mark.slow
def test_batches_of_a_fit():
    rng = np.random.default_rng(0)
    shapes = {"actions": (50, 2), "observations": (50, 3)}
    episodes = [{k: rng.uniform(-1, 1, s) for k, s in shapes.items()} for _ in range(9)]
    frame = Frame(
        *(jnp.full(n, x) for n, x in ((2, -1.0), (2, 1.0), (3, 0.0), (3, 1.0)))
    )
    units = Units(frame, jnp.full(2, 0.01), 1.0)
    data = assemble(episodes, source="test")
    sees = Conditioning(2, state=True)
    pairs = DevicePairs(data, sees, units, seed=0, keys=(KEY, KEY))
    assert pairs.held.contexts.shape[1] == 2 * 2 + 3


def gaussian():
    model = MODELS["gaussian"].build(2, 2, key=KEY)
    return Prior(model, make_frame(0), jnp.zeros((4, 1, 2)), Conditioning(1))


SPEC = Spec(3, 2)
AGENTS = {
    "sac": lambda: SAC(SPEC, 0.2, SMALL),
    "sac-norm": lambda: SAC(SPEC, 0.2, replace(SMALL, critic_norm=True)),
    "sac-tuned": lambda: SAC(SPEC, 0.2, replace(SMALL, tune_alpha=True)),
    "sac-pixels": lambda: SAC(replace(SPEC, image=(16, 16, 3)), 0.2, SMALL),
    "kl": lambda: KL(SPEC, 0.2, SMALL, prior=gaussian()),
    "sfp": lambda: SFP(SPEC, (gaussian(),), 0.2, SMALL),
    "sfp-state": lambda: SFP(SPEC, (linear_prior(dims=2, state=3),), 0.2, SMALL),
    "sfp-two": lambda: SFP(SPEC, (gaussian(),) * 2, 0.2, SMALL, Mixture(bank=0)),
    "sfp-expected": lambda: SFP(
        SPEC,
        (gaussian(),),
        0.2,
        SMALL,
        Mixture(td_value="expected", mixing_loss_at="next", entropy_weight="full"),
    ),
    "sfp-best": lambda: SFP(SPEC, (gaussian(),), 0.2, SMALL, Mixture(td_value="best")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", AGENTS)
def test_updates(name):
    agent = AGENTS[name]()
    memory = agent.begin(np.random.default_rng(0))
    size, bank = memory.history.size, getattr(agent, "bank", 0)
    batches = random_batch(4, action=2, history=size, bank=bank, lead=(2,))
    if agent.spec.image:
        seen = batches.obs._replace(
            image=jnp.zeros((2, 4, *agent.spec.image), jnp.uint8)
        )
        batches = batches._replace(obs=seen, next_obs=seen)
    state = jax.eval_shape(agent.init, KEY)
    jax.eval_shape(compile_updates(agent), state, batches, KEY)
    if bank:
        jax.eval_shape(agent.propose, KEY, jnp.zeros((3, size)))
