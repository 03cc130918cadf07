import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from probes import linear_prior
from sfp.agents.losses import scout_target
from sfp.agents.scout import Scout
from sfp.agents.sfp import SFP
from sfp.config import Mixture
from sfp.errors import SfpError
from sfp.nets.mlp import MLP
from sfp.observation import Spec


def test_the_target_by_hand():
    target = scout_target(
        jnp.array([1.0, 0.5]),
        jnp.array([0.9, 0.0]),
        jnp.array([[2.0, 4.0, 3.0], [9.0, 9.0, 9.0]]),
    )
    np.testing.assert_allclose(target, [1.0 + 0.9 * 4.0, 0.5])


def test_it_takes_the_best_proposal_and_now_and_then_the_first():
    critic = MLP([2, 1], key=jax.random.key(0))
    critic = eqx.tree_at(lambda net: net.weights[0], critic, np.array([[1.0], [2.0]]))
    critic = eqx.tree_at(lambda net: net.biases[0], critic, np.zeros(1))
    proposals = [np.array([x]) for x in (0.3, 0.9, -1.0)]
    rng, here = np.random.default_rng(0), np.array([5.0])
    chosen = [
        float(Scout(3).choose(critic, here, proposals, rng)[0]) for _ in range(400)
    ]
    assert set(chosen) == {0.9, 0.3}
    assert 0.05 < chosen.count(0.3) / 400 < 0.15


@pytest.mark.slow
def test_novelty_behind_a_door_is_known_to_the_places_before_it():
    """A line of places 0 to 4; only 4 is new, and the prior proposes both directions.

    The value of going right from x is γ^(3 - x): the way left is the longer one.
    """
    scout, gamma = Scout(2), 0.5
    x, step = (a.ravel() for a in np.meshgrid(np.arange(4.0), [-1.0, 1.0]))
    after = np.clip(x + step, 0, 4)
    both = np.array([-1.0, 1.0])
    ahead = np.stack([np.repeat(after[:, None], 2, 1), np.tile(both, (8, 1))], axis=2)
    seen, novelty = np.stack([x, step], axis=1), (after == 4).astype(np.float32)
    discount = np.where(after == 4, 0.0, gamma)
    state = scout.init(jax.random.key(0), 1, 1)
    arrays = [jnp.asarray(a, jnp.float32) for a in (seen, novelty, discount, ahead)]

    def many(state):
        return jax.lax.scan(
            lambda state, _: scout.update(state, *arrays), state, None, length=3000
        )[0]

    critic = jax.jit(many)(state).critic
    q = np.asarray(jax.vmap(critic)(arrays[0]))[:, 0]
    right = q[step > 0]
    np.testing.assert_allclose(right, gamma ** np.arange(3, -1, -1), atol=0.03)
    assert (right > q[step < 0]).all()


@pytest.mark.parametrize(
    ("mixture", "state", "size", "line"),
    [
        (Mixture(scout=4, bank=0), 0, 2, "a bank of 0"),
        (Mixture(scout=4), 2, 2, "see no state"),
        (Mixture(scout=4), 0, 0, "images alone"),
    ],
)
def test_what_it_cannot_compare_is_refused(mixture, state, size, line):
    prior = linear_prior(k=1, state=state)
    spec = Spec(state=size, goal=0, image=() if size else (8, 8, 3), action=1)
    with pytest.raises(SfpError, match=line):
        SFP(spec, (prior,), mixture=mixture)
