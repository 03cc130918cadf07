"""Runs with several priors: their tables, and what is refused."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import sfp
from environments import SMALL, make_prior, maze
from faults import outcome
from sfp.agents.methods import METHODS
from sfp.config import Mixture, Schedule
from sfp.envs.adapter import Environment
from sfp.errors import SfpError
from sfp.experiments.jobs import make_jobs
from sfp.experiments.plan import Overrides, make_plan
from sfp.report.records import read_run, summarise, tell_apart, tidy
from sfp.training.log import AS_MIXTURE, MIXTURE_TEST, read_table
from sfp.training.match import with_several

SHORT = SMALL | dict(method="sfp", steps=100, eval_every=50, log_every=50, capacity=120)


OTHERS = [
    {"prior": "b", "priors": ["room", "pink"]},
    {"prior": "c", "priors": ["room", "state"]},
    {"prior": "d", "priors": ["room", "state"]},
    {"prior": "e", "priors": ["room"]},
    {"prior": "f", "priors": None},
]


@pytest.mark.parametrize(
    ("prior", "given", "match"),
    [
        (["pink", "pink"], {}, "same prior was given twice .pink.*Leave one out"),
        ([make_prior(), make_prior()], {}, "twice .prior 1 and prior 2"),
        (
            ["ou", make_prior(low=(-1.0,) * 3, high=(1.0,) * 3)],
            {},
            "prior 2 is for actions of 3 dimensions, the environment takes 2",
        ),
        (["pink", "ou"], {"method": "parrot-action"}, "takes one prior, received 2"),
        (["pinkk"], {}, "unknown prior 'pinkk': did you mean pink"),
        (["pink"], {"method": "sac"}, "method sac takes no prior"),
        (
            ["pink", "ou"],
            {"mixing_loss_at": "target"},
            "td_value best or expected .* received sampled",
        ),
        (["pink"], {"commit": 0.5}, "commit of 1 or more, or 0 for a whole episode"),
    ],
)
def test_what_is_refused(tmp_path, prior, given, match):
    with pytest.raises(SfpError, match=match) as caught:
        sfp.train(maze(), prior=prior, out=tmp_path / "run", **(SHORT | given))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("method", "td_value", "at"),
    [
        ("sfp", None, None),
        ("sfp", "expected", "target"),
        ("sfp-quick", None, "target"),
        ("sfp-quick", "policy", None),
        ("sac", None, None),
    ],
)
def test_several_learn_from_the_values_of_a_target_that_asks_for_all(
    method, td_value, at
):
    defaults = with_several(METHODS[method], td_value).defaults
    assert defaults.get("mixing_loss_at") == at
    assert "mixing_loss_at" not in METHODS[method].defaults  # one prior: the paper's


@pytest.mark.slow
def test_a_target_on_the_policy_goes_with_several_priors():
    given = SHORT | dict(method="sfp-quick", td_value="policy", steps=20, warmup=10)
    sfp.train(maze(), prior=[make_prior(), "pink"], **given)


@pytest.mark.parametrize("value", ["sampled", "policy", None])
def test_a_target_that_does_not_ask_for_all_has_no_values_to_learn_from(value):
    given = dict(td_value=value, mixing_loss_at="target")
    with pytest.raises(SfpError, match="td_value best or expected"):
        sfp.SFP(Environment(maze()).spec, (make_prior(),), mixture=Mixture(**given))


@pytest.mark.slow
def test_a_run_tells_of_every_prior_and_of_the_mixture(tmp_path):
    """A behavioural prior keeps its proposals too; `resume` knows the set of priors."""
    folder, own = tmp_path / "run", make_prior(states=2)
    options = SHORT | dict(out=folder)
    sfp.train(maze(), prior=[own, "uniform"], **options)
    last = read_table(folder, "train")[-1]
    both = last["mixing/1"] + last["mixing/2"]
    assert both == pytest.approx(last["mixing/mean"], rel=1e-5)
    acted = [last[f"mixing/{k}/acted"] for k in (1, 2)]
    assert sum(acted) == last["mixing/prior_share"] == 1  # the warm-up's
    assert np.isfinite(last["mixing/2/q_minus_policy"])
    assert {*AS_MIXTURE.values()} <= read_table(folder, "eval")[-1].keys()
    record = read_run(folder)
    assert record.config["priors"] == ["prior 1", "uniform"]
    assert record.settings["commit"] == 0  # one prior acts for an episode
    assert record.settings["explore_episodes"] == 0.5  # theirs while the policy fails
    assert "mixture_solved_at" in record.end
    assert summarise(record)["mixing_2"] == last["mixing/2"]
    point = tidy(record)[-1]
    assert point["mixing_2"] == last["mixing/2"]
    assert point["mixture_return"] == read_table(folder, "eval")[-1][MIXTURE_TEST]
    others = [replace(record, settings=record.settings | more) for more in OTHERS]
    labels = [run.label for run in tell_apart([record, *others])]
    assert labels[:2] == ["sfp prior=prior 1 + uniform", "sfp prior=room + pink"]
    assert labels[2:4] == ["sfp prior=c", "sfp prior=d"]  # one name for two
    assert labels[4:] == ["sfp prior=room", "sfp prior=f"]  # of old, it had no name
    for other in ([own, "ou"], ["uniform", own], own):
        with pytest.raises(SfpError, match=r"other settings .*prior 'prior 1 \+ unif"):
            sfp.train(maze(), prior=other, resume=True, **options)
    changed = r"prior 'prior 1 \(\w{8}\)' -> 'prior 1 \(\w{8}\)'\)"  # by its weights
    moved = jax.tree.map(lambda x: x - 0.1, own.model)
    again = [replace(own, model=moved), "uniform"]
    with pytest.raises(SfpError, match=changed):
        sfp.train(maze(), prior=again, resume=True, **options)


@pytest.mark.slow
@pytest.mark.parametrize("envs", [1, 2])
def test_with_hindsight_proposals_of_priors_that_see_no_state_are_kept(tmp_path, envs):
    """A run with them that gets another end has the bits of one that had it."""
    priors = [make_prior(states=4), "pink"]
    given = SHORT | dict(prior=priors, hindsight=4.0, envs=envs, warmup=50)
    sfp.train(maze(), out=tmp_path / "run", **(given | {"steps": 50}))
    sfp.train(maze(), out=tmp_path / "run", extend=True, **given)
    sfp.train(maze(), out=tmp_path / "whole", **given)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
    pieces = list((tmp_path / "whole" / "checkpoint" / "replay").rglob("*.safetensors"))
    kept = [load_file(piece)["['bank']"] for piece in pieces]
    assert {bank.shape[2] for bank in kept} == {2}  # pink's, of two dimensions
    steps = np.concatenate(kept)[:-envs]
    assert (steps.std(axis=1) > 0).mean() > 0.9


@pytest.mark.slow
def test_checkpoints_of_one_prior_that_sees_states_keep_their_form():
    environment = Environment(maze())
    for count in (1, 2):
        priors = tuple(make_prior(states=4, past_actions=k) for k in range(count))
        agent = sfp.SFP(environment.spec, priors)
        for hindsight, bank in ((4.0, 0), (0.0, 8 if count > 1 else 0)):
            replay = agent.replay(Schedule(hindsight=hindsight), environment)
            assert replay.columns["bank"].shape[1:] == (bank, 2 * count)


def test_a_grid_gives_every_prior_to_its_run(tmp_path):
    given = Overrides(
        methods=("quick+state", "quick+pink"), tasks=("maze",), seeds=(0,)
    )
    jobs = make_jobs([make_plan("several", overrides=given)], tmp_path)
    assert [job.kind for job in jobs] == ["data", "prior", "train", "train"]
    words = [job.words for job in jobs if job.kind == "train"]
    assert words[0][4:8] == ("--prior", "room", "--prior", jobs[1].words[3])
    assert words[1][4:8] == ("--prior", "room", "--prior", "pink")
    assert jobs[2].needs == (jobs[1].name,)
    assert jobs[3].needs == ()


@pytest.mark.slow
def test_a_run_knows_what_its_prior_is_called(tmp_path):
    for folder, prior in (("named", "pink"), ("made", make_prior())):
        sfp.train(maze(), prior=prior, out=tmp_path / folder, **SHORT)
    named, made = (read_run(tmp_path / name) for name in ("named", "made"))
    assert named.config["priors"] == ["pink"]
    labels = [run.label for run in tell_apart([named, made])]
    assert labels == ["sfp prior=pink", "sfp prior=the prior"]
