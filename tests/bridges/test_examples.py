"""The examples run as they say, and the prior meets the goal where chance does not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHORT = ["--epochs", "1", "--epoch-steps", "500"]


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
    words = ["fit", here / "recordings", "--past-actions", "2", *SHORT, "--out", out]
    run("-m", "sfp", *words)
    return out


def explore(*words):
    return run(ROOT / "examples" / "sb3_explore.py", "--tests", "1", *words)


@pytest.mark.parametrize("library", ["stable_baselines3", "sbx"])
def test_sac_and_td3_get_to_the_top_with_the_prior(library, hand):
    words = ["--prior", hand, "--library", library, "--steps", "2000"]
    assert min(goals(explore(*words, "--explore", "mixed"))) > 0
    if library == "sbx":  # it is quicker, and the same loop
        assert goals(explore(*words, "--explore", "alone")) == [0, 0]


def test_noise_in_a_maze():
    words = ["--prior", "room", "--task", "sfp/Maze-v0", "--steps", "1100"]
    assert len(goals(explore(*words, "--explore", "noise"))) == 2


def test_cleanrl(hand):
    example = ROOT / "examples" / "cleanrl_td3.py"
    words = [example, "--prior", hand, "--steps", "2000"]
    assert goals(run(*words))[0] > 0
    assert goals(run(*words, "--without")) == [0]
    run(example, "--prior", "room", "--task", "sfp/Maze-v0", "--steps", "600")
