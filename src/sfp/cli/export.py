"""`sfp export`: a prior, a policy or a mixture that acts without sfp."""

from __future__ import annotations

from pathlib import Path

import tyro

from sfp.cli.console import show


def export(
    what: tyro.conf.Positional[str],
    *,
    out: Path,
    prior: str | None = None,
    onnx: bool = False,
    force: bool = False,
    json: bool = False,
) -> None:
    """Write what acts on a robot without sfp: NumPy alone, or ONNX.

    The folder has `controller.npz`, which holds no code, and `controller.py`, which
    runs it with nothing but NumPy. For a prior, a policy, and both mixed by λ:
        sfp export room --out exported/room
        sfp export runs/maze --out exported/maze --onnx
        sfp export runs/maze --prior room --out exported/mixture

    Args:
        what: a prior (its folder or the name of a shipped one), or the folder of a run
            or of a saved policy.
        out: the folder to make.
        prior: export the mixture that an SFP run ended with; the prior that it was
            trained with.
        onnx: write controller.onnx too; onnxruntime must agree to 1e-5.
        force: replace an existing folder.
        json: print one JSON document.
    """
    from sfp.bridges.export import export as write
    from sfp.bridges.plain import Controller

    folder = write(what, out, prior=prior, onnx=onnx, force=force)
    notes = Controller(folder / "controller.npz").notes
    row = {
        "exported": str(folder),
        "kind": notes["kind"],
        "inputs": ", ".join(f"{name} ({n})" for name, n in notes["inputs"].items()),
        "outputs": ", ".join(notes["outputs"]),
        "operations": len(notes["nodes"]),
        "bytes": (folder / "controller.npz").stat().st_size,
    }
    note = f"Act by it: see the first lines of {folder / 'controller.py'}"
    show([row], json=json, notes=[note])
