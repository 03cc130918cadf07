"""Whether a run solved its task, by the one rule of `sfp.envs.solved`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sfp.envs.solved import Solved
from sfp.training.log import AS_MIXTURE, MIXTURE_TEST, Row


def solved_at(rows: Sequence[Row], rule: Solved) -> int | None:
    """The step of the first of two evaluations in a row that solve the task."""
    for pair in itertools.pairwise(rows):
        if all(
            rule(row["eval/success_rate"], row["eval/mean_reward"] or 0.0)
            for row in pair
        ):
            return int(pair[0]["step"] or 0)
    return None


def best_row(rows: Sequence[Row]) -> Row:
    """The first of the evaluations with the highest mean return."""
    return max(rows, key=lambda row: row["eval/mean_reward"] or 0.0)


def as_mixture(rows: Sequence[Row]) -> list[Row]:
    """The tests of the mixture as it acts, by the names of the policy's own tests."""
    return [
        {"step": row["step"], **{name: row[its] for name, its in AS_MIXTURE.items()}}
        for row in rows
        if MIXTURE_TEST in row
    ]


def verdict(rows: Sequence[Row], rule: Solved) -> str:
    """Whether a run solved its task, in a sentence that names the rule."""
    if not rows:
        return (
            "Whether it is solved is not known: the run ended before its first test "
            "(--eval-every)."
        )
    told = any(row["eval/success_rate"] is not None for row in rows)
    solved, required = solved_at(rows, rule), rule.words(told=told)
    if solved is not None:
        return f"Solved at step {solved}: {required}, twice in a row."
    if required:
        return f"Not solved: that takes {required}, twice in a row."
    return (
        "Whether it is solved is not known: the environment tells no success and has "
        "no reward_threshold (--solved-at RETURN sets one)."
    )
