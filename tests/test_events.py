"""Event files as TensorBoard itself reads them."""

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sfp.events import EventFile


def test_tensorboard_reads_what_was_written(tmp_path):
    with EventFile(tmp_path) as first:
        for step in range(0, 1000, 100):
            first.scalars(step, {"fit/loss": -0.5 * step, "fit/held_out": 1.25})
    with EventFile(tmp_path) as second:  # a resumed run
        second.scalars(2**40, {"fit/loss": float("nan"), "λ/mean": 0.95})
    reader = EventAccumulator(str(tmp_path))
    reader.Reload()
    assert set(reader.Tags()["scalars"]) == {"fit/loss", "fit/held_out", "λ/mean"}
    losses = reader.Scalars("fit/loss")
    assert [event.step for event in losses] == [*range(0, 1000, 100), 2**40]
    assert [event.value for event in losses[:-1]] == [
        -0.5 * s for s in range(0, 1000, 100)
    ]
    assert reader.Scalars("λ/mean")[0].value == pytest.approx(0.95)
