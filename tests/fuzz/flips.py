"""Flip a bit in every file of a half-done run, fit and collection, and go on with it.

python tests/fuzz/flips.py              in the middle of every file
python tests/fuzz/flips.py --all        at its first byte, its middle and its last byte
python tests/fuzz/flips.py --only fit

What goes on has to be refused in one line, or to end with the same bits as what nobody
disturbed. Prints a line per case; the exit code is 0 if all is well.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

import seeds
from loaders import preload, settle

LEARNING = seeds.SMALL | {"update_after": 20}


def run(folder, *, stops):
    """A run that learns; it stops behind its second checkpoint."""
    import sfp

    def stop(step):
        if stops and step >= 50:
            raise seeds.Stop

    resume = (folder / "run" / "config.json").exists()
    given = dict(out=folder / "run", resume=resume, progress=stop, **LEARNING)
    sfp.train("room", method="sac", **given)


def run_outcome(folder):
    from faults import outcome

    return outcome(folder / "run")


def fit(folder, *, stops):
    """A fit of three epochs; it stops behind the second."""
    from sfp.data.sources import load
    from sfp.priors.conditioning import Conditioning
    from sfp.priors.fit import Fitter, Fitting
    from sfp.priors.session import fit_to

    if not (folder / "data.npz").exists():
        seeds.npz(folder)
    data = load(folder / "data.npz")
    fitting = Fitting(epochs=3, epoch_steps=2, batch=4)
    given = dict(conditioning=Conditioning(1, state=False), model="gaussian", seed=0)
    fitter = Fitter(data, fitting=fitting, **given)

    def stop(done, row):
        if stops and row and row["epoch"] >= 2 and done > 2:
            raise seeds.Stop

    fit_to(folder / "prior", data, fitter, preset="default", progress=stop)


def fit_outcome(folder):
    names = ("prior.safetensors", "fit.csv")
    bits = {name: (folder / "prior" / name).read_bytes() for name in names}
    card = json.loads((folder / "prior" / "config.json").read_text())
    del card["data"]["source"]  # a path
    return bits | card


def collection(folder, *, stops):
    """Recordings in Meta-World; they stop when one of two parts is there."""
    import sfp
    from sfp.data import manipulation

    os.environ["MINARI_DATASETS_PATH"] = str(folder / "datasets")
    manipulation.PART = 2

    def stop(done):
        if stops and done >= 2:
            raise seeds.Stop

    sfp.collect("reach", episodes=4, steps=5, progress=stop)


def collection_outcome(folder):
    from sfp.data.sources import load

    os.environ["MINARI_DATASETS_PATH"] = str(folder / "datasets")
    data = load("sfp/reach/scripted-v0", columns=("observations", "goals"))
    return {name: getattr(data, name).tobytes() for name in data.columns}


KINDS = {
    "run": (run, run_outcome),
    "fit": (fit, fit_outcome),
    "collection": (collection, collection_outcome),
}


def forked(job):
    """Do it in a process of its own: 0, 2 for an `SfpError`, 3 for a stop, else 1."""
    from sfp.errors import SfpError

    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        settle(Path(tempfile.gettempdir()) / "sfp-fuzz-xla")
        warnings.simplefilter("ignore")
        job()
        code = 0
    except seeds.Stop:
        code = 3
    except SfpError as error:
        print(f"    {error}"[:250])
        code = 2
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)


def files(folder):
    """All that is read back, and all else that has content."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if path.stat().st_size and path.name != "data.npz"]


def flip(path, where):
    data = bytearray(path.read_bytes())
    data[int((len(data) - 1) * where)] ^= 4
    path.write_bytes(data)


def check(root, kind, places):
    """Every file in turn; returns those that went unnoticed, and the cases."""
    work, outcome = KINDS[kind]
    for name, stops, code in (("whole", False, 0), ("half", True, 3)):
        (root / name).mkdir()
        ended = forked(lambda n=name, s=stops: work(root / n, stops=s))
        assert ended == code, f"the {name} {kind} ended with code {ended}"
    expected = outcome(root / "whole")
    silent, cases = [], 0
    for path in files(root / "half"):
        for where in places:
            cases += 1
            target = root / "case"
            shutil.copytree(root / "half", target)
            name = path.relative_to(root / "half")
            flip(target / name, where)
            code = forked(lambda t=target: work(t, stops=False))
            same = code == 0 and outcome(target) == expected
            verdict = (
                "same bits" if same else {0: "SILENT", 2: "refused"}.get(code, "RAW")
            )
            print(f"{kind}: {name} at {where:.0%}: {verdict}", flush=True)
            if verdict in ("SILENT", "RAW"):
                silent.append(str(name))
            shutil.rmtree(target)
    return silent, cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(KINDS), default=list(KINDS))
    args = parser.parse_args()
    preload()
    silent, cases = [], 0
    for kind in args.only:
        with tempfile.TemporaryDirectory(prefix="sfp-flips-") as folder:
            found, count = check(
                Path(folder), kind, (0, 0.5, 1) if args.all else (0.5,)
            )
        silent, cases = silent + found, cases + count
    print(f"{cases - len(silent)} of {cases} flips were refused or repaired.")
    sys.exit(1 if silent else 0)


if __name__ == "__main__":
    main()
