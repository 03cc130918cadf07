import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sfp.data.trajectories import Trajectories
from sfp.errors import SfpError
from sfp.priors.conditioning import Conditioning

LENGTHS = (7, 2, 12, 3)


def id_encoded(*, states=True, goals=True):
    """Every number says which episode and step it is from."""
    rows = [(e, t) for e, length in enumerate(LENGTHS) for t in range(length)]
    action = np.array([[e + t / 100, e + t / 100 + 0.5] for e, t in rows], np.float32)
    seen = np.array([[1000 + 100 * e + t] for e, t in rows], np.float64)
    goal = np.array([[2000 + 100 * e + t, 7] for e, t in rows], np.float32)
    bound = np.full(2, 10, np.float32)
    return Trajectories(
        action,
        np.cumsum(LENGTHS),
        -bound,
        bound,
        observations=seen if states else None,
        goals=goal if goals else None,
    )


@pytest.mark.parametrize("state", [False, True])
@pytest.mark.parametrize("k", [0, 1, 2, 5, 10])
def test_pairs_equal_a_slow_loop_and_never_cross_a_boundary(k, state):
    data = id_encoded()
    pairs = Conditioning(k, state).pairs(data)
    contexts, actions, episodes = [], [], []
    for e, length in enumerate(LENGTHS):
        own = [data.actions[data.starts[e] + t] for t in range(length)]
        for t in range(length):
            if t < k:
                continue
            context = [x for past in own[t - k : t] for x in past]
            if state:
                context += [1000 + 100 * e + t, 2000 + 100 * e + t, 7]
            contexts.append(context)
            actions.append(own[t])
            episodes.append(e)
    np.testing.assert_array_equal(pairs.contexts, np.array(contexts, np.float32))
    np.testing.assert_array_equal(pairs.actions, np.array(actions))
    np.testing.assert_array_equal(pairs.episodes, episodes)
    assert pairs.contexts.dtype == np.float32


def test_longer_than_every_episode():
    with pytest.raises(
        SfpError, match=r"longer than 12 actions \(the longest has 12\)"
    ):
        Conditioning(12).pairs(id_encoded())
    assert len(Conditioning(11).pairs(id_encoded()).actions) == 1


def test_state_that_the_data_lacks():
    with pytest.raises(
        SfpError, match=r"has no observations \(it has actions, goals\)"
    ):
        Conditioning(0, state=True).pairs(id_encoded(states=False))


def test_only_what_is_needed_is_asked_for():
    assert Conditioning(5).columns == ("actions",)
    assert "observations" in Conditioning(1, state=True).columns


def test_names_as_in_the_paper():
    assert str(Conditioning(0)) == "nothing"
    assert str(Conditioning(1)) == "a(t-1)"
    assert str(Conditioning(5)) == "a(t-5) ... a(t-1)"
    assert str(Conditioning(1, state=True)) == "s(t), a(t-1)"
    with pytest.raises(SfpError, match="past_actions of at least 0"):
        Conditioning(-1)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_the_history_begins_and_goes_on_as_it_did(k):
    """The same draws and bits as the expressions that agents and explorers had."""
    seeds = np.random.default_rng(1).normal(size=(50, k, 2)).astype(np.float32)
    actions = np.random.default_rng(2).normal(size=(7, 2)).astype(np.float32)
    sees = Conditioning(k)
    one = sees.begin(jnp.asarray(seeds), np.random.default_rng(3))
    many = sees.begin(seeds, np.random.default_rng(3), count=7)
    drawn = np.random.default_rng(3).integers(50, size=7)
    np.testing.assert_array_equal(one, seeds[np.random.default_rng(3).integers(50)])
    np.testing.assert_array_equal(many, seeds[drawn])
    key = jax.random.key(4)
    expected = seeds[jax.random.randint(key, (), 0, 50)]
    np.testing.assert_array_equal(sees.begin(jnp.asarray(seeds), key), expected)
    pushed = sees.push(many, actions)
    old = np.concatenate([many, actions[:, None]], axis=1)[:, 1:]
    np.testing.assert_array_equal(pushed, old)
    np.testing.assert_array_equal(
        sees.push(one, actions[0]), np.concatenate([one, actions[:1]])[1:]
    )
    assert pushed.dtype == np.float32


@pytest.mark.parametrize("k", [0, 2])
@pytest.mark.parametrize("state", [False, True])
def test_a_context_is_the_history_and_the_state_if_it_is_seen(k, state):
    rng, sees = np.random.default_rng(0), Conditioning(k, state)
    histories, seen = rng.normal(size=(5, k, 2)), rng.normal(size=(5, 3))
    parts = [histories.reshape(5, -1), seen[:, : 3 * state]]
    expected = np.concatenate(parts, axis=1)
    np.testing.assert_array_equal(sees.context(histories, seen), expected)
    flat = sees.context(jnp.asarray(histories.reshape(5, -1)), jnp.asarray(seen))
    np.testing.assert_allclose(flat, expected, rtol=1e-6)
    np.testing.assert_array_equal(sees.context(histories[1], seen[1]), expected[1])
