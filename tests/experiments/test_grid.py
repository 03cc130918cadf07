"""The grid: the paper's numbers, slugs that are stable and unique, what is shared."""

import dataclasses
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from sfp.agents.methods import METHODS, get_method
from sfp.cli import main
from sfp.documents import read_json
from sfp.envs.registry import TASKS
from sfp.envs.suites import PAPER_STEPS, SUITES
from sfp.errors import SfpError
from sfp.experiments.grid import EXPERIMENTS
from sfp.experiments.jobs import make_jobs, price
from sfp.experiments.manifest import write_manifest
from sfp.experiments.plan import Overrides, make_plan
from sfp.experiments.recipes import PriorRecipe, Recording
from sfp.experiments.variants import VARIANTS
from sfp.exploration.explorers import EXPLORERS
from sfp.priors.models import known_models
from sfp.priors.store import find_shipped, shipped
from sfp.training.folder import CONFIG
from sfp.training.match import with_several

FIVE = {"SFP", "SAC", "SAC+BC", "SAC-PolyRL", "PARROT-state"}


def suite_of(name):
    return next(iter(EXPERIMENTS[name].suites or SUITES))


def cells(name, **given):
    scale, suite = given.pop("scale", "small"), suite_of(name)
    return make_plan(name, suite, scale, Overrides(**given)).entries


def test_the_scale_of_the_paper():
    entries = cells("transfer", scale="paper")
    assert {entry.label for entry in entries} == FIVE
    assert {entry.cell.steps for entry in entries} == {PAPER_STEPS} == {500_000}
    assert {entry.cell.seed for entry in entries} == set(range(10))
    assert len(entries) == 5 * 3 * 10
    assert len(cells("data", scale="paper")) == 7 * 3 * 10


def test_the_small_scale():
    entries = cells("transfer")
    assert {(entry.cell.task, entry.cell.steps) for entry in entries} == {
        ("room", 16_000),
        ("corridor", 60_000),
        ("maze", 40_000),
    }
    seeds = {name: {entry.cell.seed for entry in cells(name)} for name in EXPERIMENTS}
    assert seeds["transfer"] == seeds["mixing"] == {0, 1, 2}
    for ablation in ("conditioning", "integration", "models", "data"):
        assert seeds[ablation] == {0, 1}


def test_what_the_paper_compares():
    def priors(name):
        found = {e.label: e.cell.prior for e in cells(name, seeds=(0,))}
        return {label: (p.model, p.past_actions, p.state) for label, p in found.items()}

    assert priors("conditioning") == {
        "1 action": ("realnvp", 1, False),
        "2 actions": ("realnvp", 2, False),
        "5 actions": ("realnvp", 5, False),
        "10 actions": ("realnvp", 10, False),
        "state": ("realnvp", 0, True),
        "state and action": ("realnvp", 1, True),
    }
    assert {model for model, *_ in priors("models").values()} == {
        *("realnvp", "vae", "lscde", "deterministic", "gaussian")
    }
    methods = {entry.label: entry.cell.method for entry in cells("integration")}
    assert methods == {"mixture": "sfp", "warp": "parrot-action", "KL": "sac-kl"}
    shares = {e.label: (e.cell.prior.keep, e.cell.prior.uniform) for e in cells("data")}
    assert list(shares.values()) == [
        (1.0, 0.0),
        *((0.75, 0.0), (0.5, 0.0), (0.25, 0.0)),
        *((1.0, 0.25), (1.0, 0.5), (1.0, 0.75)),
    ]
    assert Recording("room") == Recording("room", episodes=4000, steps=500, seed=0)


def test_the_papers_baselines_warm_up_as_sac_does():
    """And the other warm-ups are cells of their own, down to the folder."""
    for key in ("sac-kl", "sac-bc"):
        assert METHODS[key].defaults["warmup_by"] == "uniform"
    made = {e.name: e.cell for e in cells("transfer", methods=("all",), seeds=(0,))}
    for key in ("sac-kl", "sac-bc", "sac-kl-state"):
        plain, warm = made[key], made[f"{key}-warm"]
        assert (plain.settings, plain.method) == ((), warm.method)
        assert warm.settings == (("warmup_by", "method"),)
        words = warm.words(Path("out"))
        assert words[words.index("--warmup-by") + 1] == "method"
        assert plain.folder(Path()) != warm.folder(Path())
    words = made["sfp-uniform"].words(Path("out"))
    assert words[words.index("--warmup-by") + 1] == "uniform"
    assert made["sac-warm"].prior == made["sfp"].prior


def test_a_run_with_another_warm_up_is_not_taken_for_the_baseline(tmp_path):
    """Folders from before the uniform warm-up do not say who acted: the prior did."""
    given = dict(methods=("sac-kl", "sac-kl-warm"), tasks=("maze",), seeds=(0,))
    plain, warm = (entry.cell for entry in cells("transfer", **given))
    about = {"task": "maze", "method": "sac-kl", "seed": 0}
    old, new = {"steps": 40_000}, {"steps": 40_000, "warmup_by": "uniform"}
    for cell, schedule, taken in [
        *((plain, old, False), (plain, new, True)),
        *((warm, old, True), (warm, new, False)),
    ]:
        folder = cell.folder(tmp_path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(about | {"schedule": schedule}))
        if taken:
            cell.check(tmp_path)
        else:
            with pytest.raises(SfpError, match="holds another run"):
                cell.check(tmp_path)


def test_a_run_with_several_priors_has_their_default_of_tosses(tmp_path):
    given = dict(methods=("quick+pink", "quick+state-1"), tasks=("maze",), seeds=(0,))
    usual, other = (entry.cell for entry in cells("several", **given))
    about = {"task": "maze", "method": "sfp-quick", "seed": 0}
    about["schedule"] = METHODS["sfp-quick"].by_suite["point-maze"] | {"steps": 40_000}
    for cell, right in ((usual, 0.0), (other, 1.0)):
        own = with_several(METHODS["sfp-quick"]).defaults
        folder = cell.folder(tmp_path)
        folder.mkdir(parents=True)
        for commit, explores in ((0.0, 0.5), (1.0, 0.5), (right, 0.0)):
            options = own | {"commit": commit, "explore_episodes": explores}
            told = json.dumps({"options": options} | about)
            (folder / "config.json").write_text(told)
            # Its settings are read first, then which prior it had: none.
            is_it = (commit, explores) == (right, 0.5)
            words = "another prior than" if is_it else "holds another run"
            with pytest.raises(SfpError, match=words):
                cell.check(tmp_path)


def test_steps_by_task():
    given = dict(tasks=("room", "maze", "maze:size=small,seed=3"), methods=("sac",))
    by_task = {"room": 16_000, "maze:seed=3,size=small": 40_000}
    entries = cells("transfer", **given, seeds=(20,), steps=60_000, task_steps=by_task)
    assert {entry.cell.task: entry.cell.steps for entry in entries} == {
        "room": 16_000,
        "maze": 60_000,
        "maze:seed=3,size=small": 40_000,
    }


def test_tasks_with_parameters_are_cells_of_their_own():
    given = Overrides(
        tasks=("maze:size=large,seed=3", "maze:seed=4,size=medium", "maze"),
        methods=("sfp",),
        seeds=(0,),
    )
    plan = make_plan("transfer", overrides=given)
    names = "maze:seed=3,size=large", "maze:seed=4", "maze"
    assert tuple(entry.cell.task for entry in plan.entries) == names
    slugs = [entry.cell.slug.split("-sfp-")[0] for entry in plan.entries]
    assert slugs == ["maze-seed-3-size-large", "maze-seed-4", "maze"]
    assert {entry.cell.steps for entry in plan.entries} == {40_000}
    assert {entry.cell.prior.recording for entry in plan.entries} == {Recording("room")}
    words = plan.entries[0].cell.words(Path("out"))
    assert words[:2] == ("train", "maze:seed=3,size=large")
    (walk,) = make_plan("coverage", overrides=Overrides(tasks=("maze:seed=3",))).walks
    assert walk.file(Path(), ".csv").name == "explore-maze-seed-3.csv"
    for wrong in ("mase:seed=3", "maze:sed=3", "reach"):
        with pytest.raises(SfpError, match="unknown"):
            make_plan("transfer", overrides=Overrides(tasks=(wrong,)))


def test_a_suite_may_have_several_training_tasks(monkeypatch):
    suite = SUITES["point-maze"]
    several = dataclasses.replace(suite, training=("room", "corridor"))
    monkeypatch.setitem(SUITES, "point-maze", several)
    assert several.downstream == ("maze",)
    plan = make_plan("integration", overrides=Overrides(methods=("sfp",), seeds=(0,)))
    learned = {e.cell.task: e.cell.prior.recording.task for e in plan.entries}
    assert learned == {"room": "room", "maze": "room", "corridor": "corridor"}


def test_table_1_and_the_spectra_are_walks():
    (coverage,) = make_plan("coverage").walks
    assert coverage.task == "room-large"
    assert (coverage.trajectories, coverage.steps, coverage.repetitions) == (
        *(20, 500),
        10,
    )
    assert {"uniform", "polyrl"} <= {*coverage.explorers} == {*EXPLORERS}
    assert coverage.prior == PriorRecipe(Recording("room"))
    (psd,) = make_plan("psd").walks
    assert (psd.task, psd.explorers) == ("room", ("uniform", "scripted"))
    (fewer,) = make_plan("psd", overrides=Overrides(repetitions=2, seeds=(3,))).walks
    assert (fewer.repetitions, fewer.seed) == (2, 3)
    with pytest.raises(SfpError, match="expected an explorer beside sfp"):
        make_plan("psd", overrides=Overrides(methods=("sfp",)))


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_can_be_run(name):
    variant = VARIANTS[name]
    method = METHODS[variant.method]
    wants = {"prior": variant.prior is not None, "data": variant.data}
    assert wants == {kind: method.takes == kind for kind in wants}
    recipe = PriorRecipe(Recording("room"), **(variant.prior or {}))
    assert recipe.model in known_models()
    assert any(name in experiment.cells for experiment in EXPERIMENTS.values())
    if not wants["prior"]:
        get_method(variant.method, (), "data" if variant.data else None)


def test_suites_are_made_of_tasks():
    for name, suite in SUITES.items():
        for task in (*suite.tasks, suite.coverage, *suite.training):
            assert TASKS[task].suite == name
        assert set(suite.training) | set(suite.downstream) == set(suite.tasks)
        assert not set(suite.training) & set(suite.downstream)


def test_the_shipped_prior_serves_the_default_flow():
    recipe = PriorRecipe(Recording("room"))
    assert recipe.shipped == "room"
    assert "room" in shipped()
    for other in (
        dataclasses.replace(recipe, past_actions=2),
        dataclasses.replace(recipe, epochs=20),
        dataclasses.replace(recipe, seed=1),
        PriorRecipe(Recording("room", episodes=40)),
        PriorRecipe(Recording("maze")),
    ):
        assert other.shipped is None


def test_the_priors_of_a_suite_are_fitted_alike():
    """Whether they ship or not: as long as the one that ships was."""
    for suite in SUITES.values():
        if suite.experts:
            continue
        recipe = PriorRecipe(Recording(suite.training[0]))
        card = json.loads((find_shipped(recipe.shipped) / "config.json").read_text())
        assert card["fit"]["epochs"] == recipe.length
        other = dataclasses.replace(recipe, model="gaussian")
        words = other.words(Path())
        said = words[words.index("--epochs") + 1] if "--epochs" in words else "80"
        assert int(said) == recipe.length


def test_the_papers_protocol_reaches_every_fit_and_run():
    given = Overrides(
        methods=("sfp", "sac"), tasks=("maze",), seeds=(0,), preset="paper"
    )
    plan = make_plan("transfer", overrides=given)
    assert plan.command.endswith("--preset paper")
    jobs = make_jobs([plan], Path("out"))
    assert [job.kind for job in jobs] == ["data", "prior", "train", "train"]
    for job in jobs[1:]:
        at = job.words.index("--preset")
        assert job.words[at + 1] == "paper"
        assert "--epochs" not in job.words
    assert jobs[1].total == 100
    assert jobs[1].cost > 10 * price(make_plan("transfer"))[1]


def test_experts_of_another_task():
    plan = make_plan("training-task", "meta-world")
    assert plan.training == "pick-place"
    tasks = {entry.cell.task for entry in plan.entries}
    assert tasks == set(SUITES["meta-world"].tasks)
    (recording,) = {entry.cell.prior.recording for entry in plan.entries}
    assert recording.dataset == "sfp/pick-place/expert-v0"
    assert recording.words[2:4] == ("--policy", "expert")
    assert Recording("reach", episodes=9, expert=True).dataset == (
        "sfp/reach/expert-9x500-v0"
    )
    assert {entry.cell.prior.shipped for entry in plan.entries} == {None}
    with pytest.raises(SfpError, match="training-task is an experiment on meta-world"):
        make_plan("training-task")


def test_rlpd_is_not_for_meta_world():
    """Its recordings do not say what their states achieved: fingers, or a puck."""
    every = make_plan("transfer", "meta-world", overrides=Overrides(methods=("all",)))
    assert "rlpd" not in {entry.name for entry in every.entries}
    with pytest.raises(SfpError, match=r"^rlpd is not for meta-world: the rewards"):
        make_plan("transfer", "meta-world", overrides=Overrides(methods=("rlpd",)))


def test_slugs_are_stable():
    """Folders of results carry them: a change would lose what was run."""
    entries = {e.name: e.cell for e in cells("transfer", methods=("all",), seeds=(2,))}
    assert entries["sfp"].slug == "corridor-sfp-room-realnvp-a1-60000-s2"
    assert entries["sac-bc"].slug == "corridor-sac-bc-room-60000-s2"
    assert entries["sac-kl-state"].slug == "corridor-sac-kl-room-gaussian-s-60000-s2"
    (changed,) = cells(
        *("transfer",),
        methods=("sfp",),
        tasks=("maze",),
        seeds=(0,),
        steps=600,
        episodes=40,
        epochs=2,
        settings={"batch": 16},
    )
    assert changed.cell.slug == ("maze-sfp-room-40x500-realnvp-a1-e2-x58ae4c27-600-s0")
    recipe = dict(past_actions=0, state=True, keep=0.5, uniform=0.25, seed=3)
    assert PriorRecipe(Recording("room", seed=4), **recipe).slug == (
        "room-4000x500-d4-realnvp-s-keep50-uniform25-f3"
    )


@pytest.mark.slow
def test_a_cell_with_the_schedule_of_another_method_knows_its_own_run(tmp_path):
    """Pink noise has no mixture, whose options sfp-quick has defaults for."""
    small = dict(steps=60, batch=8, width=8, depth=1, eval_every=60, eval_episodes=1)
    (entry,) = cells(
        "sooner",
        methods=("sac-pink-quick",),
        tasks=("maze",),
        seeds=(0,),
        steps=small.pop("steps"),
        settings=small,
    )
    words = entry.cell.words(tmp_path)
    assert words[words.index("--match") :][:2] == ("--match", "sfp-quick")
    main(list(words))
    entry.cell.check(tmp_path)
    told = read_json(entry.cell.folder(tmp_path) / CONFIG)["schedule"]
    assert (told["frontier"], told["head_start"]) == (50, 8000)
    other = dataclasses.replace(entry.cell, match="")
    shutil.copytree(entry.cell.folder(tmp_path), other.folder(tmp_path))
    with pytest.raises(SfpError, match="another run"):
        other.check(tmp_path)


@pytest.mark.slow
def test_slugs_are_unique_and_fit_for_folders():
    found = {}
    for scale in ("small", "paper"):
        for name in EXPERIMENTS:
            for entry in cells(name, scale=scale, methods=("all",)):
                assert found.setdefault(entry.cell.slug, entry.cell) == entry.cell
    assert len(found) == len({*found.values()}) > 200
    assert all(re.fullmatch(r"[a-z0-9.-]{5,120}", slug) for slug in found)


def test_every_field_of_a_cell_is_in_its_slug():
    (entry,) = cells("transfer", methods=("sfp",), tasks=("maze",), seeds=(0,))
    recipe = entry.cell.prior
    others = [
        dict(task="room"),
        dict(method="sac"),
        dict(seed=1),
        dict(steps=1),
        dict(prior=None),
        dict(data=Recording("room")),
        dict(settings=(("batch", 16),)),
        dict(settings=(("batch", 17),)),
        dict(preset="paper"),
        dict(match="sac"),
        dict(prior=dataclasses.replace(recipe, recording=Recording("room", steps=9))),
        dict(prior=dataclasses.replace(recipe, recording=Recording("room", seed=9))),
        dict(
            prior=dataclasses.replace(recipe, recording=Recording("room", expert=True))
        ),
        *(
            dict(prior=dataclasses.replace(recipe, **change))
            for change in (
                *(dict(model="vae"), dict(past_actions=0), dict(state=True)),
                *(dict(keep=0.5), dict(uniform=0.5), dict(epochs=1), dict(seed=1)),
                dict(preset="paper"),
            )
        ),
    ]
    slugs = [dataclasses.replace(entry.cell, **other).slug for other in others]
    assert len({entry.cell.slug, *slugs}) == len(others) + 1


def test_experiments_share_cells():
    slugs = {
        name: {entry.cell.slug for entry in cells(name, methods=("all",))}
        for name in EXPERIMENTS
    }
    assert slugs["mixing"] < slugs["transfer"]
    assert slugs["integration"] < slugs["transfer"]
    both = slugs["conditioning"] & slugs["models"] & slugs["data"] & slugs["transfer"]
    assert len(both) == 3 * 2


def test_overrides():
    entries = cells(
        *("conditioning",), methods=("state", "sfp"), tasks=("maze",), seeds=(7, 7)
    )
    assert [(e.name, e.cell.task, e.cell.seed) for e in entries] == [
        ("state", "maze", 7),
        ("sfp", "maze", 7),
    ]
    (entry,) = cells("mixing", tasks=("room",), seeds=(0,), settings={"batch": 100.0})
    assert entry.cell.settings == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(methods=("sacc",)), "unknown cell of transfer 'sacc': did you mean sac"),
        (dict(methods=("vae",)), "unknown cell of transfer 'vae'"),
        (dict(tasks=("mase",)), "unknown task of this experiment 'mase': did you mean"),
        (dict(seeds=(-1,)), "expected a seed of at least 0"),
        (dict(steps=0), "expected steps of at least 1"),
        (dict(steps=50), "expected steps of at least a batch"),
        (dict(episodes=0), "expected episodes of at least 1"),
        (dict(task_steps={"mase": 3}), "unknown task of this experiment 'mase'"),
        (dict(task_steps={"maze": 0}), "expected steps of maze of at least 1"),
        (
            dict(methods=("sfp-uniform",), settings={"warmup_by": "method"}),
            "warmup_by of the cell sfp-uniform is uniform: leave out --set warmup_by",
        ),
        (dict(settings={"bach": 3}), "unknown setting 'bach': did you mean batch"),
        (dict(settings={"batch": "x"}), "expected batch as a number"),
        (dict(settings={"noise_theta": 0.2}), "none of the cells has noise_theta"),
    ],
)
def test_bad_overrides(given, message):
    with pytest.raises(SfpError, match=message):
        cells("transfer", **given)


def test_an_option_goes_to_the_cells_that_have_it():
    given = dict(methods=("sfp", "sac"), tasks=("maze",), seeds=(0,))
    for entry in cells("transfer", **given, settings={"commit": 5, "width": 8}):
        own = {"width": 8} | ({"commit": 5} if entry.name == "sfp" else {})
        assert dict(entry.cell.settings) == own


def test_the_command_repeats_the_plan(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = Overrides(
        *(("sfp", "sac"), ("maze",), (0, 2), 600, 40, 2, 3),
        settings={"batch": 16, "context": "stream", "until_solved": True, "alpha": 0.1},
        task_steps={"room": 500, "maze": 600},
    )
    plan = make_plan("transfer", overrides=given)
    main([*shlex.split(plan.command)[1:], "--dry-run", "--json"])
    listed = {row["run"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert {entry.cell.slug for entry in plan.entries} < listed
    words = " ".join(plan.entries[0].cell.words(tmp_path))
    settings = "--alpha 0.1 --batch 16 --context stream --until-solved"
    assert f"--seed 0 --steps 600 {settings} --out {tmp_path}/runs/maze-sfp-" in words


def test_unknown_names():
    with pytest.raises(SfpError, match="did you mean transfer"):
        make_plan("transfr")
    with pytest.raises(SfpError, match="did you mean point-maze"):
        make_plan("transfer", "pointmaze")


@pytest.mark.slow
def test_the_docs_name_every_experiment_and_its_runs():
    page = Path(__file__).parents[2].joinpath("docs", "experiments.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines()]
    costs = {row[0].strip("`"): row[1:] for row in rows if len(row) == 5}
    for name in EXPERIMENTS:
        plans = [make_plan(name, suite_of(name), s) for s in ("small", "paper")]
        small, paper = map(price, plans)
        assert [costs[name][0], costs[name][2]] == [str(small[0]), str(paper[0])]
        for said, (_, hours) in zip(costs[name][1::2], (small, paper), strict=True):
            assert float(said) == pytest.approx(hours, rel=0.1, abs=0.05)
        assert page.count(f"| `{name}` |") == 2


def test_locomotion_is_a_grid_of_thresholds_and_changes():
    plan = make_plan("biased", "gym-mujoco", overrides=Overrides(seeds=(0,)))
    tasks = {entry.cell.task for entry in plan.entries}
    assert {"hopper", "hopper:threshold=1.0", "ant:bias=0.5"} < tasks
    assert len(tasks) == 5 * 2 * 3
    for entry in plan.entries:
        if entry.name in ("sac", "sac-pink"):
            continue
        recording = entry.cell.prior.recording
        assert recording.expert
        assert recording.task == entry.cell.task.partition(":")[0]
        assert (recording.episodes, recording.steps) == (1000, 500)
    paper = make_plan("inversion", "gym-mujoco", "paper")
    assert {entry.cell.seed for entry in paper.entries} == set(range(5))
    assert {entry.cell.task for entry in paper.entries} >= {
        "walker2d:threshold=0.0",
        "walker2d:inverted=true,threshold=0.2",
    }
    with pytest.raises(SfpError, match="on point-maze, meta-world, not on gym-mujoco"):
        make_plan("transfer", "gym-mujoco")


def test_gaits_compare_what_priors_remember(tmp_path):
    given = Overrides(tasks=("halfcheetah",), seeds=(20,))
    plan = make_plan("gaits", "gym-mujoco", overrides=given)
    seen = {
        entry.name: (entry.cell.prior.model, entry.cell.prior.past_actions)
        for entry in plan.entries
        if entry.cell.prior
    }
    assert seen == {
        "quick-32": ("memory", 32),
        "quick-10": ("realnvp", 10),
        "sfp-quick": ("realnvp", 1),
        "sfp": ("realnvp", 1),
        "warm-10": ("realnvp", 10),
    }
    held = json.loads(write_manifest(tmp_path, plan, {}).read_text())
    assert {tuple(claim["tasks"]) for claim in held["claims"]} == {("halfcheetah",)}
    quick, warm = "SFP-quick, {} actions", "SAC-warm, 10 actions, its schedule"
    assert {claim["better"] for claim in held["claims"]} == {
        quick.format(32),
        quick.format(10),
    }
    beside = [claim for claim in held["claims"] if claim["worse"] == warm]
    assert [(c["better"], c["measure"]) for c in beside] == [
        (quick.format(10), "final"),
        (quick.format(10), "time"),
    ]


def test_claims_of_locomotion_are_about_disturbed_tasks_or_others(tmp_path):
    near = "ant:threshold=1.0"
    biases = "ant:bias=0", "ant:bias=-0.5", "ant:bias=0.1", near, "ant:bias=0.1,"
    given = Overrides(tasks=(*biases[:-1], f"{biases[-1]}threshold=1.0"), seeds=(0,))
    plan = make_plan("biased", "gym-mujoco", overrides=given)
    clear, most = ["ant", near], ["ant:bias=-0.5", "ant:bias=0.1,threshold=1.0"]
    for cell in ("sac", "sac-pink"):
        seen = [entry.cell.task for entry in plan.entries if entry.name == cell]
        assert sorted(seen) == clear
    held = json.loads(write_manifest(tmp_path, plan, {}).read_text())
    beats, keeps, drops, *others = held["claims"]
    assert set(beats["tasks"]) == {*most, "ant:bias=0.1"}
    assert (keeps["better"], keeps["worse"], keeps["share"]) == ("SFP", "SFP", 0.75)
    assert dict(zip(keeps["tasks"], keeps["against"], strict=True)) == dict(
        zip(most, clear, strict=True)
    )
    assert dict(zip(drops["against"], drops["tasks"], strict=True)) == dict(
        zip(most, clear, strict=True)
    )
    assert [sorted(claim["tasks"]) for claim in others] == [clear] * 3


def test_the_visual_experiment_compares_images_with_states(tmp_path):
    plan = make_plan("visual", overrides=Overrides(tasks=(), seeds=(0,)))
    seen = {(entry.label, entry.cell.task) for entry in plan.entries}
    states = {"room", "maze", "corridor"}
    images = {f"{task}:pixels=true" for task in states}
    assert seen == {
        *((label, task) for label in ("SFP", "SAC") for task in states | images),
        *(("PARROT", task) for task in images),
    }
    (recording,) = {
        entry.cell.prior.recording for entry in plan.entries if entry.label == "PARROT"
    }
    assert recording.dataset == "sfp/room/scripted-images-v0"
    assert "--images" in recording.words
    assert all(dict(entry.cell.settings)["update_every"] == 2 for entry in plan.entries)
    cloned = make_plan(
        "visual", overrides=Overrides(tasks=(), methods=("bc-half",), seeds=(0,))
    )
    seen = {entry.cell.task: entry.cell.data.dataset for entry in cloned.entries}
    assert {task: "-images-" in name for task, name in seen.items()} == {
        task: task in images for task in states | images
    }
    write_manifest(tmp_path, plan, {})
    held = json.loads((tmp_path / "visual" / "experiment.json").read_text())
    assert set(held["aggregate"]) == images
    costs = [claim for claim in held["claims"] if "against" in claim]
    assert {claim["better"] for claim in costs} == {"SFP", "SAC"}
    for claim in costs:
        assert set(claim["tasks"]) == states
        assert [f"{task}:pixels=true" for task in claim["tasks"]] == claim["against"]
    assert make_plan("visual", "meta-world").entries


def test_a_task_without_parameters_is_visited_at_every_level():
    def visited(*tasks):
        plan = make_plan("biased", "gym-mujoco", overrides=Overrides(tasks=tasks))
        return {entry.cell.task for entry in plan.entries}

    whole = visited()
    assert visited("swimmer") == {name for name in whole if name.startswith("swimmer")}
    assert len(visited("swimmer")) == 6
    assert visited("swimmer:bias=0.1") == {"swimmer:bias=0.1"}
    assert visited("swimmer:bias=0") == {"swimmer"}
