"""A run that was interrupted, killed or hit by a fault ends with the same bits."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import gymnasium as gym
import jax
import numpy as np
import pytest

import sfp
from environments import SMALL, make_prior, maze
from faults import Faults, outcome, whole
from sfp.data.replay import EpisodeReplay, Sizes, TimeStep
from sfp.errors import Interrupted, SfpError
from sfp.training.checkpoint import Checkpoints
from sfp.training.log import read_table
from sfp.training.running import episode_seed

pytestmark = pytest.mark.slow

RUNS = {
    "sfp": lambda: dict(env=maze(), method="sfp", prior=make_prior()),
    "sac": lambda: dict(env="probe/Drift-v0", method="sac"),
}


def train(kind, out, **kwargs):
    return sfp.train(**(RUNS[kind]() | SMALL | kwargs), out=out)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The outcome of each kind of run when nothing happens."""
    known = {}

    def of(kind):
        if kind not in known:
            folder = tmp_path_factory.mktemp("undisturbed") / kind
            train(kind, folder)
            whole(folder)
            known[kind] = folder, outcome(folder)
        return known[kind]

    return of


def stop_at(step, kind=signal.SIGTERM):
    """A progress function that sends a signal."""

    def progress(now):
        if now == step:
            os.kill(os.getpid(), kind)

    return progress


@pytest.mark.parametrize(("kind", "steps"), [("sfp", (150, 200)), ("sac", (50, 250))])
def test_interrupted_runs_end_with_the_same_bits(tmp_path, undisturbed, kind, steps):
    signals = (signal.SIGTERM, signal.SIGINT)
    for i, (step, name) in enumerate(zip(steps, signals, strict=True)):
        with pytest.raises(Interrupted, match=rf"step {step}; --resume goes on"):
            train(kind, tmp_path / "run", progress=stop_at(step, name), resume=i > 0)
        assert not (tmp_path / "run" / "finished.json").exists()
    train(kind, tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == undisturbed(kind)[1]
    whole(tmp_path / "run")
    seconds = [r["charts/seconds"] for r in read_table(tmp_path / "run", "timing")]
    assert seconds == sorted(seconds)


def test_the_interruptions_fell_into_the_middle_of_episodes(undisturbed):
    folder, result = undisturbed("sac")
    ends = [row["charts/episodes"] for row in read_table(folder, "train")]
    assert ends[-1] > 15
    assert result["meta"]["actions"] > 0
    assert result["meta"]["exact"] is result["finished"]["exact"] is True
    assert len(result["eval"].splitlines()) == 5
    assert result["meta"]["count"] > SMALL["capacity"]


def test_the_same_seed_twice_and_another(tmp_path, undisturbed):
    train("sac", tmp_path / "same")
    train("sac", tmp_path / "other", seed=1)
    assert outcome(tmp_path / "same") == undisturbed("sac")[1]
    other = outcome(tmp_path / "other")
    for part in ("train", "eval", "policy", "events"):
        assert other[part] != undisturbed("sac")[1][part]


def test_evaluation_does_not_disturb_training(tmp_path, undisturbed):
    train("sac", tmp_path / "run", eval_every=150, eval_episodes=3)
    one, other = outcome(tmp_path / "run"), undisturbed("sac")[1]
    assert one["train"] == other["train"]
    assert one["policy"] == other["policy"]
    assert one["eval"] != other["eval"]


def test_a_folder_makes_no_difference(undisturbed):
    trained = sfp.train(**RUNS["sac"](), **SMALL)
    stored = sfp.Trained.load(undisturbed("sac")[0])
    for a, b in zip(
        *map(jax.tree.leaves, (trained.policy, stored.policy)), strict=True
    ):
        np.testing.assert_array_equal(a, b)


SCRIPT = """
import sys
import sfp.compute
sfp.compute.use_threads(1)
from environments import SMALL, make_prior, maze
sfp.train(maze(), method="sfp", prior=make_prior(), out=sys.argv[1],
          progress=lambda step: print(step, flush=True), **SMALL)
"""


def test_kill_dash_nine(tmp_path, undisturbed):
    """Killed once; `make soak` does it at twenty moments."""
    out = tmp_path / "run"
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(jax.config.jax_compilation_cache_dir),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, out],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        for said in process.stdout:
            if said == "250\n":
                time.sleep(0.02)  # somewhere in the next iteration
                process.kill()
    assert process.returncode == -signal.SIGKILL
    train("sfp", out, resume=True)
    assert outcome(out) == undisturbed("sfp")[1]
    whole(out)


@pytest.mark.parametrize("at", [25, 62])
def test_a_fault_in_a_write(tmp_path, undisturbed, at):
    """One line then, the same bits later. `make soak` goes through all the writes."""
    with (
        pytest.raises(SfpError, match=r"^cannot write .*: No space left on device\."),
        Faults(tmp_path, at)(),
    ):
        train("sac", tmp_path / "run")
    train("sac", tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == undisturbed("sac")[1]
    whole(tmp_path / "run")


# The same for every write of a checkpoint, without the training around it.


class Record:
    """A replay that grows, and checkpoints of it."""

    def __init__(self, folder):
        self.checkpoints = Checkpoints(folder)
        self.replay = EpisodeReplay(12, Sizes(obs=1, action=1))
        self.replay.begin(self.moment(0))

    @staticmethod
    def moment(t):
        none = np.zeros(0, np.float32)
        return TimeStep(np.float32([t]), none, none, none)

    def grow(self, to):
        while self.replay.count < to:
            t = self.replay.count
            ended = t % 4 == 3
            self.replay.add(
                np.float32([-t]), float(t), self.moment(t), terminated=ended
            )
            if ended:
                self.replay.begin(self.moment(t + 1))

    def save(self, step):
        self.grow(step)
        tree = {"weights": np.full(5, step, np.float32)}
        self.checkpoints.save(step, tree, {"step": step}, self.replay)

    def load(self):
        like = {"weights": np.zeros(5, np.float32)}
        return self.checkpoints.load(lambda meta: like, self.replay)

    def content(self):
        kept = max(0, self.replay.count - self.replay.capacity)
        piece = self.replay.piece(kept)
        return {name: column.tobytes() for name, column in piece.items()}


def test_a_choice_that_goes_on_between_two_checkpoints(tmp_path):
    """No time step is added meanwhile, but a reward grows and a state changes."""
    record, contents = Record(tmp_path), {}
    record.grow(6)
    for step in (6, 7, 8):
        contents[step] = record.content()
        tree = {"weights": np.full(5, step, np.float32)}
        record.checkpoints.save(step, tree, {"step": step}, record.replay)
        record.replay.amend(10.0, record.moment(100 + step), terminated=False)
    assert len({str(content) for content in contents.values()}) == 3
    for step in (8, 7):  # the newest, and the one before if that is lost
        again = Record(tmp_path)
        assert again.load()[1]["step"] == step
        assert again.content() == contents[step]
        shutil.rmtree(tmp_path / f"step-{step:09d}")


STEPS = (5, 9, 20, 33)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """The replay's content at each checkpoint, and the number of writes."""
    record = Record(tmp_path_factory.mktemp("records"))
    contents = {}
    with Faults(record.checkpoints.folder)() as faults:
        for step in STEPS:
            record.save(step)
            contents[step] = record.content()
    return contents, faults.count


class Death(BaseException):
    """Nothing is tidied up: see `dying`."""


@pytest.mark.parametrize("way", ["raises", "dies"])
def test_a_fault_in_any_write_of_a_checkpoint(tmp_path, monkeypatch, records, way):
    contents, count = records
    assert count > 60
    for at in range(1, count + 1):
        folder = tmp_path / str(at)
        record, done = Record(folder), [0]

        def die():
            monkeypatch.setattr("sfp.files.remove", lambda path: None)
            monkeypatch.setattr(Path, "unlink", lambda path, **kwargs: None)
            raise Death

        faults = Faults(folder, at, die if way == "dies" else None)
        with contextlib.suppress(SfpError, Death), faults():
            for step in STEPS:
                record.save(step)
                done.append(step)
        monkeypatch.undo()
        assert faults.count >= at
        again = Record(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = again.load()
        step = loaded[1]["step"] if loaded else 0
        # What was saved is there; at most the one that was being written, too.
        assert step in (done[-1], *STEPS[len(done) - 1 : len(done)]), at
        if loaded:
            assert (loaded[0]["weights"] == step).all()
            assert again.content() == contents[step], at
        again = again if loaded else Record(folder)
        for later in (s for s in STEPS if s > step or s == STEPS[-1]):
            again.save(later)
            assert again.content() == contents[later], at
        assert not [p for p in folder.rglob("*") if "draft" in p.name], at
        assert again.checkpoints.steps() == list(STEPS[-2:]), at


def load_or_fail(record):
    with contextlib.suppress(SfpError):
        record.load()


def test_a_fault_while_going_back(tmp_path, records):
    """Removing what came after a damaged checkpoint may fail, and be done again."""
    for at in range(1, 8):
        folder = tmp_path / str(at)
        record = Record(folder)
        for step in STEPS[:3]:
            record.save(step)
        damage(folder, 20)
        faults = Faults(folder, at)
        with pytest.warns(UserWarning, match="going back to step 9"), faults():
            load_or_fail(record)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert record.load()[1]["step"] == 9
        assert record.content() == records[0][9]
        if faults.count < at:
            break
    else:
        pytest.fail("more writes than expected")


# Damaged checkpoints.


def damage(folder, step, name="state.safetensors", how="cut"):
    path = folder / f"step-{step:09d}" / name
    content = bytearray(path.read_bytes())
    if how == "cut":
        content = content[: len(content) // 2]
    else:
        content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["state.safetensors", "meta.json", "SHA256SUMS"])
@pytest.mark.parametrize("how", ["cut", "flip"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, records, name, how):
    record = Record(tmp_path)
    for step in STEPS:
        record.save(step)
    damage(tmp_path, 33, name, how)
    with pytest.warns(UserWarning, match="of step 33 cannot be read") as caught:
        loaded = record.load()
    assert len(caught) == 1
    assert "\n" not in str(caught[0].message)
    assert loaded[1]["step"] == 20
    assert record.content() == records[0][20]
    assert record.checkpoints.steps() == [20]
    record.save(33)
    assert record.content() == records[0][33]


def test_a_damaged_piece_of_the_replay(tmp_path, records):
    record = Record(tmp_path)
    for step in STEPS[:3]:
        record.save(step)
    pieces = sorted((tmp_path / "replay").iterdir())
    pieces[-1].write_bytes(pieces[-1].read_bytes()[:-1])
    with pytest.warns(UserWarning, match="going back to step 9"):
        assert record.load()[1]["step"] == 9
    assert record.content() == records[0][9]
    pieces[0].unlink()
    with pytest.raises(SfpError, match="the replay lacks time steps 0 to"):
        record.load()


def test_a_damaged_old_checkpoint_disturbs_nobody(tmp_path, records):
    record = Record(tmp_path)
    for step in STEPS[:3]:
        record.save(step)
    damage(tmp_path, 9, "meta.json")
    record.save(14)  # again, as at an interruption right after a checkpoint
    record.save(20)
    assert record.checkpoints.steps() == [14, 20]


def test_if_none_is_whole_nothing_is_thrown_away(tmp_path):
    record = Record(tmp_path)
    for step in STEPS:
        record.save(step)
    damage(tmp_path, 33)
    damage(tmp_path, 20)
    before = sorted(path for path in tmp_path.rglob("*"))
    with pytest.raises(SfpError, match=r"no checkpoint in .* choose another --out"):
        record.load()
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_if_all_checkpoints_are_gone_nothing_is_thrown_away(tmp_path, undisturbed):
    run = shutil.copytree(undisturbed("sac")[0], tmp_path / "run")
    (run / "finished.json").unlink()
    for path in (run / "checkpoint").glob("step-*"):
        shutil.rmtree(path)
    before = {path: path.read_bytes() for path in run.rglob("*.*") if path.is_file()}
    with pytest.raises(SfpError, match=r"no checkpoint, but its tables reach step 400"):
        train("sac", run, resume=True)
    assert {path: path.read_bytes() for path in before} == before


def test_a_run_killed_before_its_first_checkpoint_begins_anew(tmp_path, undisturbed):
    run = shutil.copytree(undisturbed("sac")[0], tmp_path / "run")
    (run / "finished.json").unlink()
    shutil.rmtree(run / "checkpoint")
    for name, rows in {"train": 2, "eval": 1, "timing": 2}.items():  # step 100
        lines = (run / f"{name}.csv").read_text().splitlines(keepends=True)
        (run / f"{name}.csv").write_text("".join(lines[: rows + 1]))
    train("sac", run, resume=True)
    assert outcome(run) == undisturbed("sac")[1]


def test_a_truncated_newest_checkpoint_and_the_same_bits(tmp_path, undisturbed):
    out = tmp_path / "run"
    shutil.copytree(undisturbed("sfp")[0], out)
    (out / "finished.json").unlink()
    damage(out / "checkpoint", 400)
    with pytest.warns(UserWarning, match="going back to step 300") as caught:
        train("sfp", out, resume=True)
    assert len(caught) == 1
    assert outcome(out) == undisturbed("sfp")[1]


# Worlds that do not follow.


def test_a_world_without_a_seed_is_told_and_marked(tmp_path):
    env = gym.make("probe/Drift-v0", seeded=False)
    with pytest.warns(UserWarning, match="does not follow the seed of reset"):
        sfp.train(env, method="sac", out=tmp_path / "run", **SMALL | {"steps": 100})
    finished = json.loads((tmp_path / "run" / "finished.json").read_text())
    del finished["first_reward"]  # left to chance, as the world is
    expected = {"step": 100, "solved_at": None, "exact": False, "verified": True}
    assert finished == expected


def test_a_world_that_does_not_come_back_goes_on_with_a_new_episode(tmp_path):
    def go(**kwargs):
        env = gym.make("probe/Drift-v0", inner=False, length=40)
        return sfp.train(env, method="sac", out=tmp_path / "run", **SMALL | kwargs)

    with (
        pytest.warns(UserWarning, match="does not follow the seed"),
        pytest.raises(Interrupted),
    ):
        go(progress=stop_at(150))
    with pytest.warns(UserWarning, match=r"did not come back.*not bit for bit") as told:
        go(resume=True)
    assert len(told) == 1
    assert len(read_table(tmp_path / "run", "train")) == 8
    finished = json.loads((tmp_path / "run" / "finished.json").read_text())
    assert finished["exact"] is False
    pieces = Checkpoints(tmp_path / "run" / "checkpoint")._ranges()
    assert pieces  # the cut-off episode stays, as a truncated one


def test_training_never_meets_the_tests(monkeypatch):
    seeds = [episode_seed(0, episode) for episode in range(1000)]
    assert len(set(seeds)) == 1000
    monkeypatch.setattr(
        "sfp.training.running.TEST_SEEDS", range(seeds[3], seeds[3] + 1)
    )
    assert episode_seed(0, 3) == seeds[3] + 2**31
    assert episode_seed(0, 4) == seeds[4]


def test_a_solved_run_killed_before_its_end_is_still_solved(tmp_path):
    """`until_solved` has ended it: going on must not add a step."""
    settings = dict(method="sac", out=tmp_path / "run", **SMALL, until_solved=True)
    env = gym.make("probe/Reach-v0", max_episode_steps=200)
    settings |= {"steps": 2000, "hindsight": 0.0}
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(
        "sfp.training.loop.solved_at", lambda rows, rule: 100 if rows else None
    )
    monkeypatch.setattr("sfp.training.trained.solved_at", lambda rows, rule: 100)
    with monkeypatch.context():
        sfp.train(env, **settings)
        before = outcome(tmp_path / "run")
        (tmp_path / "run" / "finished.json").unlink()
        sfp.train(env, **settings, resume=True)
    monkeypatch.undo()
    assert outcome(tmp_path / "run") == before
    ended = {
        "step": 100,
        "solved_at": 100,
        "exact": True,
        "verified": True,
        "first_reward": 1,
    }
    assert before["finished"] == ended
