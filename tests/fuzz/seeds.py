"""Good files of every kind that sfp reads, small, to be damaged by `mutations`."""

import json
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS))
LENGTHS = (4, 6, 3)
SMALL = dict(
    steps=60,
    warmup=20,
    update_after=1000,
    iteration=10,
    batch=4,
    width=4,
    capacity=50,
    eval_every=20,
    eval_episodes=1,
    log_every=10,
    checkpoint_every=20,
)
"""A run that does not learn: what is tested is what it reads back."""

MAPS = {
    "plain": "#####\n#S.G#\n#####\n",
    "many": "S" + "G" * 30 + "\n" + ("." * 15 + "#" + "G" * 15 + "\n") * 20,
}


def columns(rng, steps):
    sizes = {"actions": 2, "observations": 3, "goals": 2}
    return {c: rng.uniform(-1, 1, (steps, k)).astype("f4") for c, k in sizes.items()}


def episodes():
    rng = np.random.default_rng(0)
    return [columns(rng, steps) for steps in LENGTHS]


def joined():
    made = episodes()
    return {c: np.concatenate([e[c] for e in made]) for c in made[0]}


def npz(folder):
    bounds = {"low": [-1.0, -1.0], "high": [1.0, 1.0], "rate": 10.0}
    np.savez(folder / "data.npz", **joined(), episode_ends=np.cumsum(LENGTHS), **bounds)


def npy(folder):
    np.save(folder / "data.npy", joined()["actions"])


def table(folder):
    heads = {"actions": "action", "observations": "observation", "goals": "goal"}
    for number, episode in enumerate(episodes()):
        names = [
            f"{h}.{i}" for c, h in heads.items() for i in range(episode[c].shape[1])
        ]
        rows = np.concatenate([episode[c] for c in heads], axis=1)
        text = [",".join(names), *(",".join(map(repr, map(float, r))) for r in rows)]
        (folder / f"take{number}.csv").write_text("\n".join(text) + "\n")
    stated = {"low": [-1.0, -1.0], "high": [1.0, 1.0], "rate": 10.0}
    (folder / "bounds.json").write_text(json.dumps(stated))


def d4rl(folder):
    held, ends = joined(), np.cumsum(LENGTHS) - 1
    with h5py.File(folder / "data.hdf5", "w") as file:
        for name, key in (
            ("actions",) * 2,
            ("observations",) * 2,
            ("infos/goal", "goals"),
        ):
            file.create_dataset(name, data=held[key], chunks=(4, held[key].shape[1]))
        flags = np.zeros(len(held["actions"]), bool)
        flags[ends] = True
        file["terminals"], file["timeouts"] = flags, np.zeros_like(flags)


def robomimic(folder):
    with h5py.File(folder / "data.h5", "w") as file:
        for number, episode in enumerate(episodes()):
            file[f"data/demo_{number}/actions"] = episode["actions"]
            file[f"data/demo_{number}/obs/eef_pos"] = episode["observations"]


def minari(data_format, *, jpeg=False):
    def write(folder):
        import minari as theirs
        from gymnasium import spaces
        from minari.data_collector import EpisodeBuffer

        from sfp.data.sources.minari import root

        goal = spaces.Box(-9, 9, (2,), np.float32)
        seen = spaces.Box(0, 255, (32, 32, 3), np.uint8)
        state = seen if jpeg else spaces.Box(-9, 9, (3,), np.float32)
        space = {"desired_goal": goal, "observation": state}
        rng = np.random.default_rng(0)

        def observed(episode):
            more = {c: np.concatenate([v, v[-1:]]) for c, v in episode.items()}
            shape = (len(more["goals"]), 32, 32, 3)
            pictures = rng.integers(0, 256, shape, np.uint8)
            shown = pictures if jpeg else more["observations"]
            return {"desired_goal": more["goals"], "observation": shown}

        name = f"fuzz/{data_format}{'-jpeg' * jpeg}-v0"
        theirs.create_dataset_from_buffers(
            name,
            [
                EpisodeBuffer(
                    observations=observed(episode),
                    actions=episode["actions"],
                    rewards=np.zeros(len(episode["actions"])),
                    terminations=np.zeros(len(episode["actions"]), bool),
                    truncations=np.zeros(len(episode["actions"]), bool),
                )
                for episode in episodes()
            ],
            observation_space=spaces.Dict(space),
            action_space=spaces.Box(-1, 1, (2,), np.float32),
            data_format=data_format,
            **({"jpeg_encoding": True} if jpeg else {}),
            **dict.fromkeys(("algorithm_name", "author", "author_email"), "none"),
            **dict.fromkeys(("code_permalink", "description"), "none"),
        )
        shutil.move(root() / name, folder / "set")

    return write


def collected(folder):
    import sfp
    from sfp.data.sources.minari import root

    sfp.collect("room", episodes=2, steps=5)
    shutil.move(root() / "sfp/room/scripted-v0", folder / "set")


def lerobot(version):
    def write(folder):
        shutil.copytree(TESTS / "fixtures" / "lerobot" / version, folder / "set")

    return write


def prior(folder):
    import jax
    import jax.numpy as jnp

    from sfp.priors.base import Frame, Prior
    from sfp.priors.conditioning import Conditioning
    from sfp.priors.models import MODELS
    from sfp.priors.store import Card, save_prior

    model = MODELS["gaussian"].build(2, 2, key=jax.random.key(0))
    frame = Frame(-jnp.ones(2), jnp.ones(2), jnp.zeros(0), jnp.zeros(0))
    seeds = jnp.zeros((3, 1, 2)) + 0.1
    made = Prior(model, frame, seeds, Conditioning(1, state=False))
    card = Card("gaussian", 1, False, 2, 0, 3, [-1.0, -1.0], [1.0, 1.0])
    save_prior(folder / "prior", made, card)


def policy(folder):
    from folders import save_policy

    save_policy(folder, "maze")


def shared(folder):
    """What `sfp push --folder` writes."""
    from sfp.bridges.share import pack

    policy(folder)
    pack(folder / "policy", folder / "repo")
    shutil.rmtree(folder / "policy")


def exported(folder):
    """What `sfp export` writes."""
    from sfp.bridges.export import export

    policy(folder)
    made = export(folder / "policy", folder / "exported")
    shutil.rmtree(folder / "policy")
    for path in made.iterdir():
        if path.suffix != ".npz":  # nobody reads it back
            path.unlink()


class Stop(BaseException):
    """Ends a run in the middle, without a word."""


def half_run(out, *, resume=False, until=40):
    """Begin, or go on with, a run that ends in the middle, behind a checkpoint."""
    import sfp

    def stop(step):
        if step >= until + 10:
            raise Stop

    try:
        return sfp.train(
            "room", method="sac", **SMALL, out=out, resume=resume, progress=stop
        )
    except Stop:
        return None


def half(folder):
    half_run(folder / "run")


def run(folder):
    from folders import make_run

    make_run(folder / "run", task="room", solves_at=None, steps=300)
    policy(folder / "run")


def results(folder):
    from folders import PIXEL, make_experiment, make_run

    for seed in range(2):
        for method in ("sfp", "sac"):
            name = f"maze-{method}-s{seed}"
            made = folder / "runs" / name
            make_run(made, method=method, seed=seed, solves_at=None, steps=300)
    (folder / "explore").mkdir()
    (folder / "explore" / "room.csv").write_text("explorer,coverage\nuniform,0.39\n")
    (folder / "explore" / "room.png").write_bytes(PIXEL)
    make_experiment(
        folder,
        tables=[{"path": "explore/room.csv", "title": "Coverage"}],
        figures=[{"path": "explore/room.png", "title": "Walks"}],
    )


def maps(folder):
    for name, text in MAPS.items():
        (folder / f"{name}.txt").write_text(text)
