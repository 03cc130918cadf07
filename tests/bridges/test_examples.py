"""The examples run as they say, and the prior meets the goal where chance does not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHORT = ["--epochs", "3", "--epoch-steps", "300"]


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


@pytest.mark.parametrize("library", ["stable_baselines3", "sbx"])
def test_sac_and_td3_get_to_the_top_with_the_prior(library, hand):
    said = run(
        *(ROOT / "examples" / "sb3_explore.py", "--prior", hand),
        *("--library", library, "--steps", "2000", "--explore", "alone", "mixed"),
    )
    sac_alone, sac, td3_alone, td3 = goals(said)
    assert sac_alone == td3_alone == 0
    assert min(sac, td3) > 0


@pytest.mark.parametrize("library", ["stable_baselines3", "sbx"])
def test_noise_in_a_maze(library):
    said = run(
        *(ROOT / "examples" / "sb3_explore.py", "--prior", "room"),
        *("--task", "sfp/Maze-v0", "--library", library, "--steps", "1100"),
        *("--explore", "noise"),
    )
    assert len(goals(said)) == 2


def test_cleanrl(hand):
    example = ROOT / "examples" / "cleanrl_td3.py"
    assert goals(run(example, "--prior", hand, "--steps", "2000"))[0] > 0
    said = run(example, "--prior", hand, "--steps", "2000", "--without")
    assert goals(said) == [0]
    run(example, "--prior", "room", "--task", "sfp/Maze-v0", "--steps", "600")
