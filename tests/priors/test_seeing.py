"""A flow that sees images: what it learns, how it is kept, and PARROT on images."""

from dataclasses import replace

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

import sfp
from sfp.agents.methods import get_method
from sfp.data.trajectories import assemble
from sfp.envs.adapter import Environment
from sfp.envs.registry import get_task
from sfp.errors import SfpError
from sfp.nets.encoder import LATENT
from sfp.observation import Obs
from sfp.priors.compatibility import check_prior
from sfp.priors.fit import Fitter, settings
from sfp.priors.seeing import Seeing

SHAPE = (16, 16, 3)


class Bright(gym.Env):
    """Shows a bright half; the reward is for the first action's sign."""

    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = spaces.Box(0, 255, SHAPE, np.uint8)

    def _show(self):
        image = np.zeros(SHAPE, np.uint8)
        image[:, slice(8, None) if self.right else slice(0, 8)] = 255
        return image

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.right, self.count = bool(self.np_random.integers(2)), 0
        return self._show(), {}

    def step(self, action):
        self.count += 1
        reward = float((action[0] > 0) == self.right)
        return self._show(), reward, False, self.count >= 10, {}


def recordings(episodes=6, length=40, shape=SHAPE):
    """Which half of an image is bright tells the action."""
    rng, made = np.random.default_rng(0), []
    for _ in range(episodes):
        sign = rng.choice([-1.0, 1.0], size=(length, 1))
        noise = 0.05 * rng.standard_normal((length, 2))
        images = np.zeros((length, *shape), np.uint8)
        half = shape[1] // 2
        for image, right in zip(images, sign[:, 0] > 0, strict=True):
            image[:, half:] = 255 * right
            image[:, :half] = 255 * (not right)
        actions = (0.5 * sign + noise).astype(np.float32)
        made.append({"actions": actions, "images": images})
    return assemble(made, source="bright", low=-np.ones(2), high=np.ones(2))


@pytest.fixture(scope="module")
def prior():
    """Of the right structure; it has learned nothing."""
    fitter = Fitter(recordings(), **_image_fit())
    return fitter.prior(fitter.begin())


@pytest.mark.slow
def test_the_flow_learns_what_an_image_tells_and_is_kept(tmp_path):
    options = dict(model="parrot-image", epochs=2, epoch_steps=40, batch=32)
    prior = sfp.fit(recordings(), progress=lambda row: None, **options)
    assert str(prior.conditioning) == "image(t)"
    assert prior.context_size == 16 * 16 * 3
    dark = np.zeros(SHAPE, np.float32)
    right, left = dark.copy(), dark.copy()
    right[:, 8:], left[:, :8] = 255, 255
    draw = jax.jit(jax.vmap(prior.sample, in_axes=(0, None)))
    keys = jax.random.split(jax.random.key(0), 64)
    means = [np.asarray(draw(keys, x.ravel())).mean(axis=0) for x in (right, left)]
    assert (means[0] > 0.25).all()
    assert (means[1] < -0.25).all()
    sfp.save_prior(prior, tmp_path / "prior")
    again = sfp.load_prior(tmp_path / "prior")
    assert again.conditioning == prior.conditioning
    np.testing.assert_array_equal(
        draw(keys, right.ravel()),
        jax.jit(jax.vmap(again.sample, in_axes=(0, None)))(keys, right.ravel()),
    )


@pytest.mark.slow
def test_parrot_sees_images_and_its_policy_is_kept(prior, tmp_path):
    options = dict(steps=60, warmup=20, update_after=40, iteration=10, batch=4, width=8)
    options |= dict(eval_every=1000, log_every=20, capacity=60, n_step=2)
    options |= dict(method="parrot-image", prior=prior, out=tmp_path / "run")
    options |= dict(eval_env=Bright(), progress=lambda step: None)
    policy = sfp.train(Bright(), **options)
    image, _ = Bright().reset(seed=0)
    loaded = sfp.Trained.load(tmp_path / "run")
    action = loaded.predict(image)
    np.testing.assert_array_equal(action, policy.predict(image))
    none = np.zeros(0, np.float32)
    held = loaded.controller
    rng = np.random.default_rng(0)
    acted, _ = held.act(held.begin(rng), Obs(none, none, image), rng)
    np.testing.assert_allclose(action, acted, atol=1e-6)


@pytest.mark.slow
def test_bc_clones_what_an_image_tells_and_what_sees_it():
    data = recordings()
    options = dict(steps=10, warmup=10, update_after=20, iteration=10, batch=10)
    options |= dict(eval_every=1000, log_every=10, capacity=60, n_step=2, width=16)
    policy = sfp.train(
        Bright(),
        **options,
        method="sac-bc",
        data=data,
        bc_epochs=20,
        eval_env=Bright(),
        progress=lambda step: None,
    )
    for image, action in zip(data.images[::20], data.actions[::20], strict=True):
        np.testing.assert_allclose(policy.predict(image), action, atol=0.3)


@pytest.mark.slow
def test_recordings_of_other_images_are_refused_by_bc():
    options = dict(steps=10, eval_env=Bright(), batch=8, progress=lambda step: None)
    for data, line in (
        (
            recordings(shape=(16, 8, 3)),
            r"uint8 and shape \(16, 8, 3\), .* \(16, 16, 3\)",
        ),
        (replace(recordings(), images=None), "needs images in the recordings"),
    ):
        with pytest.raises(SfpError, match=line):
            sfp.train(Bright(), method="sac-bc", data=data, **options)
    with pytest.raises(SfpError, match=r"method rlpd needs states, .* shows images"):
        sfp.train(Bright(), method="rlpd", data=recordings(), **options)


@pytest.mark.slow
def test_its_features_are_what_the_encoder_sees():
    model = Seeing(2, 8 * 8 * 3, key=jax.random.key(0), shape=(8, 8, 3))
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    none = jnp.zeros(0)
    expected = model.encoder(Obs(none, none, jnp.asarray(image)))
    seen = model.features(jnp.asarray(image.ravel(), jnp.float32) / 255)
    assert seen.shape == (LATENT,)
    np.testing.assert_allclose(seen, expected, atol=1e-6)


@pytest.mark.slow
def test_what_does_not_fit_together_is_said_in_a_line(prior):
    with pytest.raises(SfpError, match="no prior that sees images: take method parrot"):
        get_method("sfp", (prior,))
    with pytest.raises(
        SfpError, match="needs a flow that sees images, this one sees a"
    ):
        get_method("parrot-image", (sfp.load_prior("room"),))
    for task in ("room", "room:pixels=true,frames=2"):
        with pytest.raises(SfpError, match="sees an image of 768 numbers"):
            check_prior(prior, "it", Environment(get_task(task).make()))
    plain = recordings()
    object.__setattr__(plain, "images", None)
    with pytest.raises(SfpError, match=r"bright has no images \(it has actions\)"):
        Fitter(plain, **_image_fit())
    object.__setattr__(plain, "images", np.zeros((len(plain.actions), 8, 8, 3)))
    with pytest.raises(SfpError, match="images of float64"):
        Fitter(plain, **_image_fit())


def _image_fit():
    from sfp.priors.fit import conditioning_of

    model = "parrot-image"
    sees = conditioning_of(model, 0, state=False)
    return dict(conditioning=sees, model=model, fitting=settings(model, batch=2))
