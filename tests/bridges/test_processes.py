"""Whole runs with environments in processes of their own, as `sfp train` has them."""

import json
import os
import signal
import subprocess
import sys
import time

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import sfp
from environments import SMALL
from faults import outcome

WORDS = ["--method", "sac", "--envs", "2", "--steps", "4000", "--iteration", "50"]
WORDS += ["--width", "8", "--batch", "8", "--eval-every", "2000"]


def train(out, *more):
    words = ["env", "--default-signal=INT"]  # also in the background of a shell
    words += [sys.executable, "-m", "sfp", "train", "room", "--out", str(out)]
    return subprocess.Popen([*words, *WORDS, *more], start_new_session=True)


def processes(group):
    words = ["pgrep", "-a", "-g", str(group)]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout


def test_processes_make_no_difference():
    small = SMALL | {"envs": 2, "capacity": 300, "steps": 200, "method": "sac"}
    runs = [sfp.train("room", **small, vector=kind) for kind in ("sync", "async")]
    np.testing.assert_array_equal(*(run.policy.net.weights[0] for run in runs))


def test_a_vector_of_one_gives_the_bits_of_the_environment_alone():
    small = SMALL | {"steps": 200, "method": "sac"}
    one = SyncVectorEnv(
        [lambda: gym.make("sfp/Room-v0")], autoreset_mode=AutoresetMode.DISABLED
    )
    runs = [sfp.train("room", **small), sfp.train(one, eval_env="room", **small)]
    np.testing.assert_array_equal(*(run.policy.net.weights[0] for run in runs))
    assert runs[0].evaluations == runs[1].evaluations


def test_ctrl_c_leaves_a_checkpoint_and_no_process(tmp_path):
    assert train(tmp_path / "whole").wait(300) == 0
    run = train(tmp_path / "cut")
    table = tmp_path / "cut" / "train.csv"
    while not (table.is_file() and len(table.read_text().splitlines()) > 1):
        time.sleep(0.05)
        assert run.poll() is None
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    assert run.wait(60) == 130
    end = time.monotonic() + 10  # Python's own tracker of resources goes last
    while left := processes(run.pid):
        assert time.monotonic() < end, left
        time.sleep(0.1)
    assert train(tmp_path / "cut", "--resume").wait(300) == 0
    assert outcome(tmp_path / "cut") == outcome(tmp_path / "whole")
    config = json.loads((tmp_path / "cut" / "config.json").read_text())
    assert config["schedule"]["envs"] == 2
