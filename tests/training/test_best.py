"""The best policy of a run: that of the test with the highest return."""

import json
import shutil
from dataclasses import replace

import pytest

import sfp
from environments import SMALL
from sfp.cli import main
from sfp.envs.adapter import Environment, make_env
from sfp.errors import SfpError
from sfp.training.evaluate import evaluate
from sfp.training.folder import BEST
from sfp.training.log import read_table
from sfp.training.run import check_best
from sfp.training.trained import Trained
from sfp.training.verdict import best_row

TASK = "probe/Drift-v0"


def rows(*returns):
    return [
        {"step": 100 * (i + 1), "eval/mean_reward": r} for i, r in enumerate(returns)
    ]


def test_the_best_of_equals_is_the_first():
    assert best_row(rows(1.0, 3.0, 2.0, 3.0))["step"] == 200
    assert best_row(rows(-2.0, -1.0))["step"] == 200


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of a few seeds; in some of them the best test is not the last."""
    folder = tmp_path_factory.mktemp("best")
    for seed in range(4):
        settings = SMALL | {"checkpoint_every": 200, "learning_rate": 0.01}
        sfp.train(TASK, method="sac", seed=seed, out=folder / str(seed), **settings)
    return [folder / str(seed) for seed in range(4)]


@pytest.mark.slow
def test_its_tests_have_the_return_that_the_table_says(runs):
    early = 0
    for run in runs:
        tests = read_table(run, "eval")
        best, kept = best_row(tests), Trained.load(run / BEST)
        assert kept.spec.step == best["step"]
        environment = Environment(make_env(TASK), TASK)
        row, _ = evaluate(environment, kept.controller, SMALL["eval_episodes"])
        assert row["eval/mean_reward"] == best["eval/mean_reward"]
        early += best["eval/mean_reward"] > tests[-1]["eval/mean_reward"]
        assert Trained.load(run).spec.step is None
    assert early  # or the run's last policy would have passed, too


@pytest.mark.slow
def test_it_is_said_and_can_be_evaluated(runs, tmp_path, capsys):
    best = best_row(read_table(runs[0], "eval"))
    words = [
        "--method",
        "sac",
        "--steps",
        "50",
        "--eval-every",
        "50",
        "--eval-episodes",
    ]
    words += ["1", "--warmup", "50", "--update-after", "1000", "--batch", "8"]
    main(["train", TASK, *words, "--out", str(tmp_path / "run")])
    said = " ".join(capsys.readouterr().out.split())
    assert f"its policy is in {tmp_path / 'run' / BEST}" in said.replace("- ", "-")
    main(["evaluate", str(runs[0] / BEST), "--task", TASK, "--episodes", "2", "--json"])
    told = json.loads(capsys.readouterr().out)["summary"]
    assert told["eval/mean_reward"] == best["eval/mean_reward"]


@pytest.mark.slow
def test_one_of_a_test_that_the_table_does_not_have_is_removed(runs, tmp_path):
    """As after a run went on with other versions, and found other returns."""
    shutil.copytree(runs[0], tmp_path / "run")
    best = Trained.load(runs[0] / BEST)
    for step, kept in ((best.spec.step, True), (best.spec.step + 1, False)):
        changed = Trained(best.controller, replace(best.spec, step=step))
        changed.save(tmp_path / "run" / BEST, force=True)
        check_best(tmp_path / "run", read_table(runs[0], "eval"))
        assert (tmp_path / "run" / BEST).is_dir() is kept


@pytest.mark.slow
def test_a_damaged_one_stops_a_run_that_is_to_go_on_and_nothing_is_lost(runs, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(runs[0], run)
    weights = run / BEST / "policy.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")
    held = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    settings = SMALL | {"checkpoint_every": 200, "learning_rate": 0.01, "steps": 600}
    with pytest.raises(SfpError, match=r"best is damaged.* Or remove .*best\.$"):
        sfp.train(TASK, method="sac", seed=0, out=run, extend=True, **settings)
    assert held == {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
