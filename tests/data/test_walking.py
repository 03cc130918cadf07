"""Experts of locomotion: they walk, and only where they belong."""

import numpy as np
import pytest

import sfp
from sfp.data import walking
from sfp.data.walking import known_experts, load_expert
from sfp.envs.registry import get_task
from sfp.errors import SfpError

pytest.importorskip("mujoco")


@pytest.mark.slow
def test_recordings_of_an_expert_follow_from_the_seed(monkeypatch, tmp_path):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    given = dict(policy="expert", episodes=2, steps=60)
    data = sfp.collect("halfcheetah:threshold=10%", **given, name="own/one-v0")
    again = sfp.collect("halfcheetah:threshold=10%", **given, name="own/two-v0")
    other = sfp.collect("halfcheetah", **given, seed=1)
    assert data.fingerprint == again.fingerprint != other.fingerprint
    assert other.source == "sfp/halfcheetah/expert-v0"
    assert data.actions.shape == (120, 6)
    assert data.names == get_task("halfcheetah").make().metadata["action_names"]


@pytest.mark.parametrize("task", known_experts())
def test_every_expert_gets_away(task):
    chosen = get_task(task)
    env, who = chosen.make(), load_expert(chosen)
    seen, _ = env.reset(seed=0)
    success = False
    for _ in range(500):
        action, _ = who.act(None, seen, np.random.default_rng(0))
        seen, _, terminated, _, info = env.step(action)
        success = success or info["is_success"]
        if success or terminated:
            break
    assert success


@pytest.mark.parametrize(
    ("task", "policy", "words"),
    [
        ("halfcheetah", "scripted", "no script walks in halfcheetah: .*expert"),
        ("halfcheetah:positions=true", "expert", "observations of 17 .* has 18 and 6"),
    ],
)
def test_what_cannot_be_recorded_is_one_line(task, policy, words):
    with pytest.raises(SfpError, match=words):
        sfp.collect(task, policy=policy, episodes=1)


def test_a_task_without_expert_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setattr(walking, "SHIPPED", tmp_path)
    with pytest.raises(SfpError, match=r"no expert ships for ant .*Ant-v5 .*--policy"):
        load_expert(get_task("ant"))
