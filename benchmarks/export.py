"""Time of one action of what `sfp export` wrote, against 1 kHz on one core.

Seconds of the processor, so that other programs on the machine count little.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

import sfp
from sfp.bridges.plain import Controller

ACTIONS = 1000


def main():
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "out"
        sfp.export("room", folder, onnx=True)
        controller = Controller(folder / "controller.npz")
        show("NumPy", controller.act)
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(folder / "controller.onnx", options)
        sizes = controller.notes["inputs"].items()
        given = {name: np.zeros((1, size), np.float32) for name, size in sizes}
        show("onnxruntime", lambda: session.run(["action"], given))


def show(name, act):
    taken = []
    for _ in range(ACTIONS):
        begin = time.process_time()
        act()
        taken.append(1e3 * (time.process_time() - begin))
    median, most = np.median(taken), np.quantile(taken, 0.99)
    print(f"{name}: {median:.2f} ms per action (99 %: {most:.2f} ms)")


if __name__ == "__main__":
    main()
