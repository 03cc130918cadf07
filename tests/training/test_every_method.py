"""Every method, end to end: it runs, resumes with the same bits, is kept, and acts."""

import os
import signal
from dataclasses import replace

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sfp
from environments import SMALL, make_prior, maze
from faults import outcome, whole
from sfp.agents.methods import METHODS
from sfp.data.trajectories import assemble
from sfp.envs.adapter import Environment, make_env
from sfp.errors import Interrupted, SfpError
from sfp.priors.base import Frame, Prior
from sfp.priors.conditioning import Conditioning
from sfp.priors.gaussian import Gaussian
from sfp.priors.models import Maker
from sfp.priors.realnvp import PARROT, RealNVP
from sfp.priors.skills import Skills
from sfp.training import loop
from sfp.training.evaluate import FIRST_SEED, evaluate
from sfp.training.log import read_table
from sfp.training.trained import episode_rng

pytestmark = pytest.mark.slow


def around(model, *, past=0, state=0):
    ones = jnp.ones(2)
    frame = Frame(-ones, ones, jnp.full(state, 0.5), jnp.ones(state))
    seeds = jax.random.uniform(jax.random.key(5), (7, past, 2), minval=-0.9)
    return Prior(model, frame, seeds, Conditioning(past, state=state > 0))


def recordings(episodes=4, length=30, seed=0, **columns):
    rng = np.random.default_rng(seed)
    sizes = {"actions": 2, "observations": 2, "goals": 2} | columns
    made = [
        {k: rng.uniform(0, 1, (length, n)).astype(np.float32) for k, n in sizes.items()}
        for _ in range(episodes)
    ]
    return assemble(made, source="some recordings", low=-np.ones(2), high=np.ones(2))


def flow(context):
    return RealNVP(2, context, key=jax.random.key(1), size=PARROT)


def skills():
    maker = Maker(Skills, '{"horizon": 7, "latent": 3, "width": 8}')
    made = around(maker(2, 4, key=jax.random.key(1)), state=4)
    return replace(made, maker=maker)


KINDS = {
    "sac": dict,
    "sfp": lambda: dict(prior=make_prior()),
    "sfp-quick": lambda: dict(
        prior=[make_prior(), "pink"], commit=4.0, context="stream"
    ),
    "sac-warm": lambda: dict(prior=make_prior()),
    "sac-bc": lambda: dict(data=recordings(), bc_epochs=2),
    "sac-polyrl": dict,
    "parrot-state": lambda: dict(prior=around(flow(4), state=4)),
    "parrot-action": lambda: dict(prior=around(flow(2), past=1)),
    "sac-kl": lambda: dict(prior=around(Gaussian(2, 2, key=jax.random.key(1)), past=1)),
    "spirl": lambda: dict(prior=skills()),
    "sac-pink": lambda: dict(noise_horizon=20),
    "sac-ou": dict,
    "sac-zeta": dict,
    "rlpd": lambda: dict(data=recordings()),
}
SHORT = SMALL | dict(steps=200, warmup=130, capacity=150)


def train(method, out=None, **more):
    options = SHORT | KINDS[method]() | more
    return sfp.train(maze(), method=method, out=out, **options)


def test_every_method_is_tried():
    images = {"parrot-image"}  # tests/priors/test_seeing.py
    assert set(KINDS) | images == set(METHODS)


@pytest.mark.parametrize("method", [m for m in KINDS if m not in ("sac", "sfp")])
def test_a_run_that_was_interrupted_ends_with_the_same_bits(
    tmp_path, monkeypatch, method
):
    """Once in the warm-up and once after it, in the middle of episodes of 60 steps."""
    programs, scanned = [], loop._scanned
    monkeypatch.setattr(
        loop, "_scanned", lambda do: programs.append(scanned(do)) or programs[-1]
    )
    train(method, tmp_path / "whole")
    assert all(program._cache_size() <= 1 for program in programs)  # compiled once
    for i, step in enumerate((100, 150)):

        def stop(now, step=step):
            if now == step:
                os.kill(os.getpid(), signal.SIGTERM)

        with pytest.raises(Interrupted):
            train(method, tmp_path / "run", progress=stop, resume=i > 0)
    trained = train(method, tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
    whole(tmp_path / "run")
    assert_acts_like_its_evaluation(trained, tmp_path / "run")


@pytest.mark.parametrize("method", ["sfp", "sfp-quick", "sac-pink"])
def test_from_images_it_resumes_with_the_same_bits_and_acts(tmp_path, method):
    def run(out, **more):
        given = SHORT | dict(hindsight=0) | KINDS[method]() | more
        return sfp.train("room:pixels=true", method=method, out=out, **given)

    def stop(now):
        if now == 150:
            raise KeyboardInterrupt

    run(tmp_path / "whole")
    with pytest.raises((Interrupted, KeyboardInterrupt)):
        run(tmp_path / "run", progress=stop)
    trained = run(tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
    image = make_env("room:pixels=true").reset(seed=0)[0]
    action = sfp.Trained.load(tmp_path / "run").predict(image)
    np.testing.assert_array_equal(action, trained.predict(image))
    assert np.abs(action - trained.predict(255 - image)).max() > 0.0


def assert_acts_like_its_evaluation(trained, folder):
    """Kept, loaded and asked through `predict`, a policy does what was logged."""
    kept = sfp.Trained.load(folder)
    environment = Environment(maze())
    last = read_table(folder, "eval")[-1]
    for policy in (trained, kept):
        row, played = evaluate(environment, policy.controller, SHORT["eval_episodes"])
        assert row == {name: last[name] for name in row}
        controller, rng = policy.controller, episode_rng(FIRST_SEED)
        memory, now = controller.begin(rng), environment.reset(FIRST_SEED)
        policy.reset(FIRST_SEED)
        for t in range(10):
            seen = {"observation": now.obs.state, "desired_goal": now.obs.goal}
            scaled, memory = controller.act(memory, now.obs, rng)
            np.testing.assert_allclose(policy.predict(seen), scaled, atol=1e-5)
            assert np.abs(scaled).max() <= 1.0
            now = environment.step(scaled).observed
            shown = played[0].observed[t + 1].obs
            np.testing.assert_array_equal(now.obs.state, shown.state)


def test_a_policy_that_remembers_takes_one_observation_at_a_time():
    trained = train("parrot-action", steps=100)
    seen = {"observation": np.zeros((2, 2)), "desired_goal": np.zeros((2, 2))}
    with pytest.raises(SfpError, match="one observation at a time, received 2"):
        trained.predict(seen)
    assert train("parrot-state", steps=100).predict(seen).shape == (2, 2)


# --- bad input ------------------------------------------------------------------------

BAD = {
    "sac-bc without recordings": (
        lambda: dict(method="sac-bc"),
        "needs recordings with actions, states .*, or images",
    ),
    "rlpd without recordings": (
        lambda: dict(method="rlpd"),
        "needs recordings with actions, states, goals",
    ),
    "sac with recordings": (
        lambda: dict(method="sac", data=recordings()),
        "leave out data",
    ),
    "actions alone": (
        lambda: dict(
            method="sac-bc", data=replace(recordings(), observations=None, goals=None)
        ),
        "needs observations and goals in the recordings",
    ),
    "other states": (
        lambda: dict(method="rlpd", data=recordings(observations=5)),
        "some recordings has observations of 5 numbers, .* of 2",
    ),
    "other goals": (
        lambda: dict(method="sac-bc", data=recordings(goals=1)),
        "goals of 1 numbers, .* of 2.*state-free prior",
    ),
    "other bounds": (
        lambda: dict(
            method="rlpd", data=replace(recordings(), high=np.full(2, 2.0, "f4"))
        ),
        "some recordings is for actions within",
    ),
    "a prior for BC": (
        lambda: dict(method="sac-bc", prior=make_prior()),
        "takes no prior",
    ),
    "no prior": (
        lambda: dict(method="parrot-state"),
        "method parrot-state needs a prior",
    ),
    "a state-free flow for parrot-state": (
        lambda: dict(method="parrot-state", prior=around(flow(2), past=1)),
        "needs a flow that sees the state alone, this one sees",
    ),
    "a behavioural flow for parrot-action": (
        lambda: dict(method="parrot-action", prior=around(flow(4), state=4)),
        "needs a state-free flow, this one sees",
    ),
    "no flow": (
        lambda: dict(method="parrot-action", prior=make_prior()),
        "invertible prior, received the model Steady",
    ),
    "no Gaussian": (
        lambda: dict(method="sac-kl", prior=make_prior()),
        "closed form, received the model Steady",
    ),
    "tuned alpha": (
        lambda: KINDS["sac-kl"]() | dict(method="sac-kl", tune_alpha=True),
        "no entropy to tune alpha by",
    ),
    "settings that are the reference's": (
        lambda: KINDS["spirl"]() | dict(method="spirl", depth=3, tune_alpha=True),
        "method spirl has the reference's .*: leave out depth and tune_alpha",
    ),
    "too few pairs": (
        lambda: dict(method="sac-bc", data=recordings(episodes=1, length=5)),
        "some recordings has 5 pairs, fewer than a batch of 8",
    ),
    "goals that change what actions mean": (
        lambda: KINDS["parrot-state"]() | dict(method="parrot-state", hindsight=4.0),
        "method parrot-state allows no hindsight",
    ),
    "an angle": (
        lambda: dict(method="sac-polyrl", polyrl_angle=2.0),
        "polyrl_angle within",
    ),
    "a colour": (
        lambda: dict(method="sac-pink", noise_exponent=-1),
        "noise_exponent within",
    ),
    "a state of another size": (
        lambda: dict(method="parrot-state", prior=around(flow(7), state=7)),
        "sees a state of 7 numbers, .* shows 2 .*state-free prior would work",
    ),
}


@pytest.mark.parametrize("case", list(BAD))
def test_one_line_says_what_is_missing(case, tmp_path):
    make, message = BAD[case]
    with pytest.raises(SfpError, match=message) as caught:
        sfp.train(maze(), out=tmp_path / "run", **(SHORT | make()))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_suite_that_a_method_is_not_for(monkeypatch):
    assert "meta-world" in METHODS["rlpd"].refused
    refused = replace(METHODS["rlpd"], refused={"point-maze": "of the walls"})
    monkeypatch.setitem(METHODS, "rlpd", refused)
    with pytest.raises(SfpError, match="rlpd is not for point-maze: of the walls"):
        sfp.train("room", method="rlpd", data=recordings(), **SHORT)


def test_rlpd_needs_goals_and_to_see_what_was_achieved():
    with pytest.raises(SfpError, match="rlpd needs goals"):
        sfp.train(
            "probe/Drift-v0",
            method="rlpd",
            data=drifting(),
            **SHORT,
        )

    class Hidden(gym.ObservationWrapper):
        def observation(self, observation):
            return observation | {"observation": observation["observation"] + 1}

    env, other = (Hidden(gym.make("probe/Reach-v0")) for _ in range(2))
    with pytest.raises(SfpError, match="does not show the achieved goal"):
        sfp.train(env, method="rlpd", eval_env=other, data=recordings(), **SHORT)


def drifting():
    rng = np.random.default_rng(0)
    low, high = np.array([-1.0, 0.0]), np.array([2.0, 0.5])
    episode = {
        "actions": rng.uniform(low, high, (30, 2)).astype(np.float32),
        "observations": rng.uniform(-1, 1, (30, 3)).astype(np.float32),
    }
    return assemble([episode], source="drift", low=low, high=high)


def test_bc_works_without_goals():
    trained = sfp.train(
        "probe/Drift-v0", method="sac-bc", data=drifting(), bc_epochs=1, **SHORT
    )
    assert trained.predict(np.zeros(3)).shape == (2,)


def test_a_flow_that_cannot_be_kept_is_refused_before_the_first_step(tmp_path):
    """PARROT saves its flow with the policy; one without a name could not be loaded."""

    class Unnamed(RealNVP):
        pass

    steps, odd = [], Unnamed(2, 4, key=jax.random.key(1), size=PARROT)
    with pytest.raises(SfpError, match=r"Unnamed is none .* sfp.register_model"):
        train(
            "parrot-state",
            tmp_path / "run",
            prior=around(odd, state=4),
            progress=steps.append,
        )
    assert steps == []
