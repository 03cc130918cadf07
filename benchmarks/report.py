"""The report of a 100-run grid at the paper's length: its size, and how fast it opens.

10 methods, 2 tasks, 5 seeds, 125 evaluations and 500 rows of training each.

    python benchmarks/report.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from sfp.report.html import write_report
from sfp.training.log import TABLES

METHODS = ("sfp", "sac", "bc", "parrot", "kl", "polyrl", "pink", "ou", "zeta", "rlpd")


def make_run(folder: Path, task: str, method: str, seed: int) -> None:
    rng = np.random.default_rng([seed, METHODS.index(method)])
    folder.mkdir(parents=True)
    config = {"task": task, "method": method, "seed": seed, "schedule": {"steps": 5e5}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "versions.json").write_text(json.dumps({"sfp": "0.1.0"}))
    (folder / "finished.json").write_text(json.dumps({"exact": True}))
    for name, every, rows in (("train", 1000, 500), ("eval", 4000, 125)):
        lines = [",".join(TABLES[name])]
        for i in range(rows):
            values = rng.uniform(0, 1, len(TABLES[name]) - 1)
            lines.append(",".join(map(str, [every * (i + 1), *values])))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def seconds_to_open(path: Path) -> float | None:
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(path.as_uri())
        page.evaluate("new Promise(done => requestAnimationFrame(() => done()))")
        took = time.perf_counter() - began
        browser.close()
    return took


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for task in ("maze", "corridor"):
            for method in METHODS:
                for seed in range(5):
                    make_run(root / f"{task}-{method}-{seed}", task, method, seed)
        began = time.perf_counter()
        path = write_report(root, root / "report.html").path
        print(f"written in {time.perf_counter() - began:.1f} s")
        print(f"{path.stat().st_size / 1e6:.1f} MB (at most 20)")
        took = seconds_to_open(path)
        print("no Chromium" if took is None else f"opens in {took:.2f} s (at most 3)")


if __name__ == "__main__":
    main()
