"""The tables on the results pages are those that `sfp report` wrote."""

import csv
import itertools
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLES = sorted((ROOT / "results").rglob("tables.md"))
PAGES = sorted((ROOT / "docs" / "results").glob("*.md"))


def page_of(path):
    """An experiment has the page of its name; Meta-World's transfer has its own."""
    suite, experiment = path.parts[-3:-1]
    name = suite if suite == "meta-world" else experiment
    return ROOT / "docs" / "results" / f"{name}.md"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_every_row_is_on_its_page_in_order(path):
    rows = [line for line in path.read_text().splitlines() if line]
    page = page_of(path).read_text().splitlines()
    first = page.index(rows[0])
    tables = [line for line in page[first:] if line.startswith("|")]
    assert tables[: len(rows)] == rows


@pytest.mark.slow
def test_the_tables_of_sooner_are_those_of_its_runs():
    """`sfp report` needs whole runs; these were made on several machines."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "sooner.py"))
    made = ROOT / "results" / "sooner"
    assert script["tables"](made / "runs.csv") == (made / "tables.md").read_text()


@pytest.mark.parametrize(
    ("script", "made", "page"),
    [
        ("mixtures", "several/mixtures/mixtures.md", "several"),
        ("skills", "spirl/spirl.md", "spirl"),
        ("hidden", "gym-mujoco/hidden/hidden.md", "gaits"),
    ],
)
def test_tables_that_a_script_makes_are_those_of_its_runs(script, made, page):
    tables = runpy.run_path(str(ROOT / "benchmarks" / f"{script}.py"))["tables"]()
    assert tables == (ROOT / "results" / made).read_text()
    text = (ROOT / "docs" / "results" / f"{page}.md").read_text()
    assert all(table in text for table in tables.strip().split("\n\n"))


def test_there_are_tables():
    assert TABLES


def split(page):
    """The running text of a page and its provenance."""
    text, heading, provenance = page.read_text().partition("\n## Provenance\n")
    assert heading, f"{page.name} has no provenance"
    return text, provenance


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_says_where_its_numbers_come_from(page):
    head, _, *rows = split(page)[1].strip().splitlines()
    assert head == "| measurement | command | commit | date |"
    assert rows
    for row in rows:
        cells = re.split(r"(?<!\\) \| ", row.strip("| "))
        assert len(cells) == 4, row
        assert re.search(r"\b[0-9a-f]{7}\b", cells[2]), row
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", cells[3]), row


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "docs" / "results.md"], ids=lambda page: page.stem
)
def test_running_text_has_no_commits_and_no_targets(page):
    text = page.read_text().partition("\n## Provenance\n")[0]
    assert not re.findall(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7}\b", text)
    assert not re.findall(r"required|\(aim|prototype", text)


def test_the_summary_links_to_every_page():
    summary = (ROOT / "docs" / "results.md").read_text()
    missing = [page.name for page in PAGES if f"(results/{page.name})" not in summary]
    assert missing == []


EXPLORERS = {
    "uniform": "uniform",
    "PolyRL": "polyrl",
    "one-step prior": "prior {}",
    "prior `room`": "prior room",
    "the scripted policy": "scripted",
    "pink noise": "pink",
    "Ornstein-Uhlenbeck": "ou",
    "Zeta": "zeta",
    "Real NVP, one": "prior room",
    "Real NVP, ten": "prior room-realnvp-a10",
    "conditional VAE": "prior room-vae-a1",
    "LSCDE": "prior room-lscde-a1",
    "Gaussian": "prior room-gaussian-a1",
    "deterministic": "prior room-deterministic-a1",
}
"""How a row of the docs begins, and what its CSV calls the explorer."""


def read(path):
    with (ROOT / "results" / path).open() as file:
        return list(csv.DictReader(file))


def table(page, head):
    """The rows below a heading row, as cells without emphasis."""
    lines = (ROOT / "docs" / "results" / page).read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(head))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[first + 2 :])
    return [row.replace("**", "").strip("| ").split(" | ") for row in rows]


def find(rows, label, prior=""):
    names = [name for start, name in EXPLORERS.items() if label.startswith(start)]
    (row,) = [row for row in rows if row["explorer"] == names[0].format(prior)]
    return row


@pytest.mark.parametrize(
    ("task", "prior", "head", "measures"),
    [
        (
            "room-large",
            "room",
            "| explorer | coverage | paper | authors' code |",
            {1: ("coverage", 3), 4: ("gyration", 4), 7: ("gyration_printed", 2)},
        ),
        (
            "reach",
            "reach",
            "| explorer | coverage | paper | U_g² (δ, as printed) |",
            {1: ("coverage", 3), 3: ("gyration_printed", 4), 5: ("gyration", 4)},
        ),
    ],
)
def test_coverage_is_that_of_its_table(task, prior, head, measures):
    rows, found = read(f"coverage/explore-{task}.csv"), table("coverage.md", head)
    assert len(found) == len(rows)
    for label, *cells in found:
        row = find(rows, label, prior)
        for column, (name, digits) in measures.items():
            value, spread = float(row[name]), float(row[f"{name}_std"])
            said = f"{value:.{digits}f} ± {spread:.{digits}f}"
            assert cells[column - 1] == said, (label, name)


@pytest.mark.parametrize(
    ("folder", "head"), [("coverage", "| explorer |"), ("models", "| prior |")]
)
def test_first_rewards_are_those_of_their_tables(folder, head):
    found = table("first-rewards.md", head)
    for column, task in enumerate(("room", "corridor", "maze"), 1):
        rows = read(f"{folder}/explore-{task}.csv")
        for cells in found:
            said = f"{float(find(rows, cells[0])['success']):.3f}"
            assert cells[column] == said, (cells[0], task)


@pytest.mark.parametrize(
    ("file", "head"),
    [("chosen", "| noise |"), ("then", "| on other mazes |")],
)
def test_noises_are_those_of_their_tables(file, head):
    rows, found = read(f"noises/{file}.csv"), table("first-rewards.md", head)
    assert len(found) == len(rows)
    for (name, *cells), row in zip(found, rows, strict=True):
        shares = [row[task] for task in row if task not in ("explorer", "score")]
        assert cells[: len(shares)] == [f"{float(share):.3f}" for share in shares]
        setting = row["explorer"].partition("-")[2]
        assert setting in name, (name, row["explorer"])
        if row.get("score"):
            assert cells[-1] == f"{float(row['score']):.2f}"


def test_likelihoods_are_those_of_their_table():
    found = table("likelihood.md", "| model |")
    rows = read("priors/room.csv")
    assert len(found) == len(rows)
    for model, past, seed, nats, *_ in found:
        (row,) = [
            row
            for row in rows
            if (f"`{row['model']}`", row["past_actions"]) == (model, past)
            and row["seed"] == seed.split()[0]
        ]
        if row["held_out"]:
            assert nats.endswith(f"{abs(float(row['held_out'])):.3f}")


def test_what_explores_is_that_of_its_table():
    found, rows = table("what-explores.md", "| prior |"), read("exploration/room.csv")
    assert 3 * len(found) == len(rows)
    for prior, past, temperature, nats, run, together, slow, *goals in found:
        name = prior.split("`")[1]
        own = [r for r in rows if r["prior"] == name]
        own = [r for r in own if float(r["temperature"]) == float(temperature)]
        assert own[0]["past_actions"] == past
        said = [("held_out", nats, 3), ("run_length", run, 1), ("low_power", slow, 2)]
        said.append(("persistence_50", together, 1))
        assert all(f"{float(own[0][key]):.{n}f}" == text for key, text, n in said)
        met = {row["task"]: f"{float(row['goals_met']):.3f}" for row in own}
        assert goals == [met[task] for task in ("room", "corridor", "maze")]


def test_learning_is_that_of_its_table():
    rows = read("learning/summary.csv")
    found = table("learning.md", "| task | method |")
    assert len(found) * 3 == len(rows)
    for task, method, solved, returns, *_ in found:
        runs = [
            row
            for row in sorted(rows, key=lambda row: int(row["seed"]))
            if (f"`{row['task']}`", f"`{row['method']}`") == (task, method)
        ]
        steps = [f"{int(r['solved_at']):,}" if r["solved_at"] else "no" for r in runs]
        assert solved == ", ".join(steps)
        assert returns == ", ".join(f"{float(row['return']):.0f}" for row in runs)


def test_dense_returns_are_those_of_their_tables():
    for seed, *said in table("dense.md", "| seed | ours |")[:3]:
        last = {row["library"]: row for row in read(f"dense/halfcheetah-{seed}.csv")}
        returns = [float(last[name]["return"]) for name in ("sfp", "stable-baselines3")]
        assert said == [f"{value:.0f}" for value in returns]


SWIMMERS = {"1 past": "flow-1", "10 past": "flow-10", "32 past": "memory-32"}


def test_how_far_swimmers_get_is_that_of_its_table():
    rows = read("gaits/explore-swimmer.csv")
    found = table("gaits.md", "| explorer | reach 2 m |")
    assert len(found) == len(rows)
    for label, reached, mean, best in found:
        names = [f"prior {name}" for words, name in SWIMMERS.items() if words in label]
        (row,) = (
            [row for row in rows if row["explorer"] == names[0]]
            if names
            else [find(rows, label)]
        )
        assert reached == f"{round(60 * float(row['success']))} of 60"
        assert mean == f"{float(row['distance_1000']):.2f}"
        assert best == f"{float(row['best_1000']):.2f}"
    readme = (ROOT / "README.md").read_text()
    assert "47 of 60 episodes" in readme
