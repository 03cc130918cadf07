"""The examples run as they say, and the prior meets the goal where chance does not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FIT = ["--past-actions", "2", "--epochs", "3", "--epoch-steps", "500"]


def run(*words):
    words = [sys.executable, *map(str, words)]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def goals(said):
    return [int(n) for n in re.findall(r"the goal in (\d+) training episodes", said)]


@pytest.fixture(scope="module")
def hand(tmp_path_factory):
    """The prior of the examples."""
    here = tmp_path_factory.mktemp("hand")
    run(ROOT / "examples" / "recordings.py", here / "recordings")
    out = here / "priors" / "hand"
    run("-m", "sfp", "fit", here / "recordings", *FIT, "--out", out)
    return out


def explore(*words):
    return run(ROOT / "examples" / "sb3_explore.py", "--tests", "1", *words)


@pytest.mark.parametrize("library", ["stable_baselines3", "sbx"])
def test_sac_and_td3_get_to_the_top_with_the_prior(library, hand):
    words = ["--prior", hand, "--library", library, "--steps", "1200"]
    assert min(goals(explore(*words, "--explore", "mixed"))) > 0
    if library == "sbx":  # it is quicker, and the same loop
        assert goals(explore(*words, "--explore", "alone")) == [0, 0]


def test_noise_in_a_maze():
    words = ["--prior", "room", "--task", "sfp/Maze-v0", "--steps", "300"]
    words += ["--warmup", "200", "--explore", "noise"]
    assert len(goals(explore(*words))) == 2


def test_cleanrl(hand):
    example = ROOT / "examples" / "cleanrl_td3.py"
    words = [example, "--prior", hand, "--steps", "1200"]
    assert goals(run(*words))[0] > 0
    assert goals(run(*words, "--without")) == [0]
    maze = ["--task", "sfp/Maze-v0", "--steps", "300", "--warmup", "200"]
    run(example, "--prior", "room", *maze)
