"""What else can be killed besides a run: a fit, a collection, an experiment.

Each has `begin(folder)`, which does all of it or goes on with it, in this process, and
`outcome(folder)`, whose bits no kill may change.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))

import seeds
from flips import fit_outcome, preload  # noqa: F401

from faults import outcome as run_outcome

EXPERIMENT = (
    *("reproduce", "transfer", "--methods", "sfp", "sac", "--tasks", "maze"),
    *("--seeds", "0", "--steps", "300", "--episodes", "6", "--epochs", "2"),
    *("--workers", "1", "--set", "batch=8", "--set", "warmup=100"),
    *("--set", "update_after=100", "--set", "eval_every=100", "--set", "width=8"),
    *("--set", "checkpoint_every=100", "--set", "eval_episodes=1"),
)


def fit(folder):
    """Eight epochs, a checkpoint after each."""
    from sfp.compute import keep_compiled
    from sfp.data.sources import load
    from sfp.priors.conditioning import Conditioning
    from sfp.priors.fit import Fitter, Fitting
    from sfp.priors.session import fit_to

    keep_compiled(Path(tempfile.gettempdir()) / "sfp-soak-xla")
    folder.mkdir(exist_ok=True)
    if not (folder / "data.npz").exists():
        seeds.npz(folder)
    if (folder / "prior").exists():  # it ended before it was killed
        return
    data = load(folder / "data.npz")
    fitting = Fitting(epochs=8, epoch_steps=100, batch=4)
    given = dict(conditioning=Conditioning(1, state=False), model="realnvp", seed=0)
    fitter = Fitter(data, fitting=fitting, **given)
    fit_to(folder / "prior", data, fitter, preset="default")


def collect(folder):
    """Recordings in Meta-World, in six parts."""
    import sfp
    from sfp.data import manipulation

    os.environ["MINARI_DATASETS_PATH"] = str(folder)
    manipulation.PART = 2
    if not (folder / "sfp/reach/scripted-v0").exists():
        sfp.collect("reach", episodes=12, steps=60)


def collect_outcome(folder):
    data = folder / "sfp/reach/scripted-v0/data"
    left = [path.name for path in folder.iterdir() if path.name != "sfp"]
    return {"data": (data / "main_data.hdf5").read_bytes(), "left": left}


def reproduce(folder):
    """Recordings, a prior and two runs; becomes the command."""
    os.environ["MINARI_DATASETS_PATH"] = str(folder / "datasets")
    folder.mkdir(exist_ok=True)
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    words = [sys.executable, "-m", "sfp", *EXPERIMENT, "--out", str(folder / "out")]
    os.execv(sys.executable, words)


def reproduce_outcome(folder):
    runs = sorted((folder / "out" / "runs").iterdir())
    priors = sorted((folder / "out" / "priors").glob("*/prior.safetensors"))
    weights = {path.parent.name: path.read_bytes() for path in priors}
    return {run.name: run_outcome(run) for run in runs} | weights


OTHERS = {
    "fit": (fit, fit_outcome),
    "collect": (collect, collect_outcome),
    "reproduce": (reproduce, reproduce_outcome),
}
