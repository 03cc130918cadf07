"""The paper's 4000 x 500 scripted steps: seconds and memory to record and write them.

    python benchmarks/collect.py

Required: under two minutes, less than 2 GiB. The peer of the same run is copying the
finished file, which no writer can beat.
"""

import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from sfp.data import collect


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        began = time.perf_counter()
        data = collect("room", episodes=4000, steps=500, seed=0)
        seconds = time.perf_counter() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        file = next(Path(folder).rglob("main_data.hdf5"))
        began = time.perf_counter()
        shutil.copyfile(file, file.with_suffix(".copy"))
        with file.with_suffix(".copy").open("rb") as copy:
            os.fsync(copy.fileno())
        copying = time.perf_counter() - began
        print(f"{len(data.actions)} steps recorded, written, checked: {seconds:.1f} s")
        print(f"copying the {file.stat().st_size / 1e6:.0f} MB file: {copying:.1f} s")
        print(f"ratio {seconds / copying:.0f}; peak memory {memory:.2f} GiB")
        sys.exit(seconds > 120 or memory > 2)


if __name__ == "__main__":
    main()
