"""Every loader of sfp as a target: a good seed, and what is done with a damaged one.

A loader raises `SfpError` or returns; what it returns is looked at as users do.
"""

import contextlib
import io

import seeds
from mutations import SECRET


def recordings(path, *, rest=()):
    """A dataset, with all that a format can hold."""
    from sfp.data.sources import load
    from sfp.exploration.description import describe

    data = load(path, columns=rest)
    assert len(data.actions) == data.ends[-1], "the episodes do not fill the data"
    assert bool(data.fingerprint)
    describe(data)


def data(name="", rest=("observations", "goals")):
    def load(folder, out, rng):
        path = folder / name
        columns = rng.choice(((), rest, rest))
        recordings(path, rest=columns)

    return load


def prior(folder, out, rng):
    from sfp.priors.store import open_prior

    open_prior(folder / "prior")


def policy(folder, out, rng):
    """As `sfp evaluate`, but for the episodes."""
    import numpy as np

    from sfp.training.trained import Trained

    trained = Trained.load(folder / "policy")
    seen = {key: np.zeros(shape) for key, shape in trained.spec.inputs.items()}
    trained.predict(seen.get("", seen))
    if rng.random() < 0.2:
        evaluated(folder / "policy")


def evaluated(path):
    from sfp.cli.evaluate import evaluate

    with contextlib.redirect_stdout(io.StringIO()):
        evaluate(path, episodes=1)


def run(folder, out, rng):
    """As `sfp curves` and `sfp report` read it."""
    from sfp.report.records import read_runs, summarise, tidy
    from sfp.training.trained import Trained

    for record in read_runs([folder / "run"]):
        summarise(record)
        tidy(record)
    Trained.load(folder / "run")


def half(folder, out, rng):
    """As `sfp train --resume` reads it; the run itself may change."""
    import shutil
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shutil.copytree(folder / "run", out / "run", symlinks=True, copy_function=_copy)
        seeds.half_run(out / "run", resume=True, until=40)


def _copy(source, target):
    """A copy that does not read what may have no end."""
    import os
    import shutil
    import stat

    kind = os.lstat(source).st_mode
    if stat.S_ISFIFO(kind):
        os.mkfifo(target)
    elif stat.S_ISLNK(kind):
        os.symlink(os.readlink(source), target)
    elif os.path.getsize(source) > 10**8:
        os.truncate(os.open(target, os.O_CREAT | os.O_WRONLY), os.path.getsize(source))
    else:
        shutil.copy2(source, target)
    return target


def shared(folder, out, rng):
    """As `sfp pull` from a folder; what it writes must load."""
    from sfp.bridges.hub import pull
    from sfp.training.trained import Trained

    pull(str(folder / "repo"), out / "got")
    Trained.load(out / "got")
    text = "".join(p.read_text(errors="replace") for p in (out / "got").rglob("*.json"))
    assert SECRET not in text, "it takes along what lies outside the repository"


def exported(folder, out, rng):
    """As a robot does, which has no sfp: `ValueError` takes the place of `SfpError`."""
    import numpy as np

    from sfp.bridges.plain import Controller
    from sfp.errors import SfpError

    try:
        controller = Controller(folder / "exported" / "controller.npz")
    except ValueError as error:
        line = str(error)
        raise (SfpError if "\n" not in line else RuntimeError)(line) from None
    size = controller.notes["inputs"].get("observation", 0)
    parts = controller.notes["observation"]
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):
        controller.act({key: np.zeros(size // len(parts)) for key in parts})


def results(folder, out, rng):
    """As `sfp report`; what lies outside the folder may not get into it."""
    from sfp.report.html import write_report

    write_report(folder, out / "report.html", replays=False)
    text = (out / "report.html").read_text()
    assert SECRET not in text, "the report tells what lies outside its folder"
    assert "U0VDUkVULTczOTF" not in text, "the report embeds what lies outside"


def maps(folder, out, rng):
    from sfp.envs.registry import get_task

    for path in sorted(folder.glob("*.txt")):
        task = get_task(str(path))
        env = task.make()
        env.reset(seed=0)
        env.step(env.action_space.sample())


LOADERS = {
    "npz": (seeds.npz, data("data.npz")),
    "npy": (seeds.npy, data("data.npy", ())),
    "csv": (seeds.table, data()),
    "d4rl": (seeds.d4rl, data("data.hdf5")),
    "robomimic": (seeds.robomimic, data("data.h5", ())),
    "minari-hdf5": (seeds.minari("hdf5"), data("set")),
    "minari-arrow": (seeds.minari("arrow"), data("set")),
    "minari-parquet": (seeds.minari("parquet"), data("set")),
    "minari-jpeg": (seeds.minari("hdf5", jpeg=True), data("set", ("images",))),
    "collected": (seeds.collected, data("set")),
    "lerobot-v2": (seeds.lerobot("v2"), data("set", ("observations",))),
    "lerobot-v3": (seeds.lerobot("v3-split"), data("set", ("observations",))),
    "prior": (seeds.prior, prior),
    "policy": (seeds.policy, policy),
    "shared": (seeds.shared, shared),
    "exported": (seeds.exported, exported),
    "run": (seeds.run, run),
    "checkpoint": (seeds.half, half),
    "results": (seeds.results, results),
    "map": (seeds.maps, maps),
}
"""Name: what makes a good one in a folder, and what reads it."""

NEEDED = ("npz", "map", "prior", "policy", "run", "results", "collected")
"""What a folder for command lines is furnished with."""


def settle(compiled):
    """In a fork: keep compiled programs there, and claim one thread, as `sfp` does."""
    from sfp import compute

    compute._chosen = 1
    compute.keep_compiled(compiled)


def preload():
    """Import all that workers need; nothing computes yet: a fork is safe."""
    import h5py  # noqa: F401
    import minari  # noqa: F401
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401

    import sfp.bridges.export
    import sfp.bridges.hub
    import sfp.data.sources
    import sfp.exploration.description
    import sfp.priors.store
    import sfp.report.html
    import sfp.training.run  # noqa: F401
