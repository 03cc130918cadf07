"""The report is one file, complete, escaped, and the same each time."""

import csv
import io
import json
import os
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import numpy as np
import pytest

from folders import NASTY, PIXEL, make_grid, make_run, sign
from sfp.errors import SfpError
from sfp.report.html import write_report
from sfp.report.html.chart import WIDTH, _heights, brief, numbers, tick_size, ticks
from sfp.report.html.markup import csv_link, file_table, picture, script_json, table
from sfp.report.plots import save_figures


class Reader(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def page(written):
    return Reader(written.path.read_text())


@pytest.mark.slow
def test_nothing_is_fetched(written):
    content = written.path.read_text()
    addresses = re.findall(r"""(?:src|href)=["']([^"']*)""", content)
    assert addresses
    assert all(a.startswith(("data:", "#")) for a in addresses)
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg", "", content)
    assert "url(" not in content
    assert "@import" not in content


@pytest.mark.slow
def test_what_comes_from_folders_is_escaped(written, page):
    assert NASTY not in written.path.read_text()
    assert not [a for _, a in page.tags if any(k.startswith("on") for k in a)]
    assert "".join(page.words).count("onerror") > 3  # shown as text
    assert len(page.all("script")) == 2


@pytest.mark.slow
def test_every_figure_has_its_numbers(page):
    links = [a for a in page.all("a") if "download" in a]
    figures = page.all("figure")
    replays = [f for f in figures if "replay" in f.get("class", "")]
    assert len(links) > len(figures) > 8 + len(replays)
    assert replays
    walks = [a for a in links if a["download"].endswith("-walks.csv")]
    assert len(walks) == len(replays)
    assert [a for a in links if a["download"] == "room.csv"]
    for link in links:
        head, _, content = link["href"].partition(",")
        assert head == "data:text/csv;charset=utf-8"
        first, *rows = csv.reader(io.StringIO(unquote(content)))
        assert rows
        assert all(len(row) == len(first) for row in rows)


@pytest.mark.slow
def test_the_numbers_are_those_of_the_runs(page):
    (link,) = [
        a for a in page.all("a") if a.get("download") == "transfer-maze-return.csv"
    ]
    content = unquote(link["href"].partition(",")[2])
    rows = list(csv.DictReader(io.StringIO(content)))
    seed = [r for r in rows if (r["method"], r["seed"]) == ("SFP", "2")]
    assert [float(r["value"]) for r in seed] == [0.0, 0.0, *[102.0] * 6]
    last = [r for r in rows if (r["method"], r["seed"]) == ("SFP", "all")][-1]
    assert (float(last["value"]), last["n"]) == (101.0, "3")


@pytest.mark.slow
def test_sections_tables_replays_and_provenance(page, written):
    assert [s["id"] for s in page.all("section")] == [
        "_summary",
        "transfer",
        "other-runs",
        "_runs",
    ]
    words = " ".join(" ".join(page.words).split())
    for expected in (
        "Transfer to <unseen> tasks",
        "sfp reproduce transfer",
        "Final performance",
        "n = 1",
        "was stopped",
        "SFP against the others",
        "λ against return",
        "Coverage",
        "test episodes reach",
        "schedule.eval_every",
        "0.10.2",
    ):
        assert expected in words
    replays = [f for f in page.all("figure") if "replay" in f.get("class", "")]
    assert len(replays) == 3  # SFP on both tasks, SAC on one
    assert [i for i in page.all("img") if i["src"].startswith("data:image/png")]
    (left_out,) = [w for w in written.warnings if w.startswith("left out")]
    assert "config.json" in left_out
    assert left_out in words


@pytest.mark.slow
def test_same_runs_same_bits(tmp_path):
    make_grid(tmp_path, seeds=2)
    one, two = (
        write_report(tmp_path, tmp_path / f"{i}.html").path.read_bytes() for i in "ab"
    )
    assert one == two


@pytest.mark.slow
def test_odd_numbers_and_names_do_not_end_the_report(tmp_path):
    """Returns that no axis shows, a name that is no UTF-8, seeds that share no step."""
    for seed, level in enumerate((1e308, -1e308, 5e-324)):
        make_run(tmp_path / f"big-{seed}", seed=seed, level=level)
    for task in ("maze", "room"):
        make_run(tmp_path / f"{task}-0", task=task, method="sac", every=100)
        make_run(tmp_path / f"{task}-1", task=task, method="sac", seed=1, every=300)
    lines = (tmp_path / "room-1" / "eval.csv").read_text()
    lines = lines.replace("300,", "310,").replace("600,", "610,")
    (tmp_path / "room-1" / "eval.csv").write_text(lines)
    make_run(tmp_path / "run-\udce9t\udce9", task="cost in $ and $")
    (tmp_path / "explore-x.csv").write_text(f"explorer,n\nuniform,{10**400}\n")
    (tmp_path / "explore-x.png").write_bytes(PIXEL)
    written = write_report(tmp_path, tmp_path / "report.html", replays=False)
    page = written.path.read_text()
    assert "cost in $ and $" in page
    assert "run-?t?" in page
    ((_, found),) = written.compared
    assert any(path.suffix == ".svg" for path in save_figures(found, tmp_path / "f"))


def test_runs_that_are_longer_than_others_stay_within_the_chart(tmp_path):
    make_run(tmp_path / "short", steps=400)
    make_run(tmp_path / "long", seed=1, steps=2000)
    page = write_report(tmp_path, tmp_path / "r.html", replays=False).path.read_text()
    points = re.findall(r'class="seed[^"]*" points="([^"]*)"', page)
    across = [float(pair.split(",")[0]) for line in points for pair in line.split()]
    assert len(across) > 20
    assert max(across) <= WIDTH


def test_a_run_without_evaluations_is_an_empty_state(tmp_path):
    make_run(tmp_path / "a", steps=50, finished=False)
    written = write_report(tmp_path, tmp_path / "r.html")
    assert "No evaluation has been made yet" in written.path.read_text()


def test_damaged_policies_and_attachments_are_warnings(tmp_path):
    make_run(tmp_path / "a", policy=True)
    (tmp_path / "a" / "policy" / "policy.safetensors").write_bytes(b"x")
    (tmp_path / "explore-a.png").write_bytes(b"no picture")
    (tmp_path / "explore-a.csv").write_text("a,b\n1\n")
    written = write_report(tmp_path, tmp_path / "r.html")
    assert "no replay of a: " in written.warnings[0]
    content = written.path.read_text()
    assert "explore-a.png is no PNG picture" in content
    assert "explore-a.csv is no CSV table" in content


def test_a_policy_elsewhere_is_not_loaded(tmp_path):
    elsewhere = make_run(tmp_path / "elsewhere", policy=True)
    run = make_run(tmp_path / "in" / "a")
    (run / "policy").symlink_to(elsewhere / "policy")
    written = write_report(tmp_path / "in", tmp_path / "r.html")
    assert written.warnings == ["no replay of a: policy leads out of the results."]


@pytest.mark.parametrize("kind", ["link", "inner link", "pipe"])
def test_what_lies_beside_a_figure_is_no_way_out(tmp_path, kind):
    secret = tmp_path / "secret.csv"
    secret.write_text("name,value\nkey,topsecret\n")
    root = make_run(tmp_path / "in" / "a").parent
    (root / "other.csv").write_text("name,value\nkey,topsecret\n")
    shown = {"path": "plot.png", "title": "plot"}
    about = {"format": 1, "name": "x", "figures": [shown]}
    (root / "experiment.json").write_text(json.dumps(about))
    (root / "plot.png").write_bytes(PIXEL)
    beside = root / "plot.csv"
    beside.write_text("name,value\nkey,told\n")
    write_report(root, tmp_path / "r.html", replays=False)
    assert "told" in (tmp_path / "r.html").read_text()
    beside.unlink()
    if kind == "pipe":
        os.mkfifo(beside)
    else:
        beside.symlink_to(secret if kind == "link" else root / "other.csv")
    write_report(root, tmp_path / "r.html", replays=False)
    content = (tmp_path / "r.html").read_text()
    assert 'alt="plot"' in content
    assert "topsecret" not in content


def test_no_link_among_the_results_is_followed(tmp_path):
    root = make_run(tmp_path / "in" / "a").parent
    for name in ("plot.png", "table.csv"):
        (tmp_path / name).write_bytes(PIXEL)
        (root / name).symlink_to(tmp_path / name)
        key = "figures" if name.endswith("png") else "tables"
        about = {"format": 1, "name": "x", key: [{"path": name, "title": "t"}]}
        (root / "experiment.json").write_text(json.dumps(about))
        written = write_report(root, tmp_path / "r.html", replays=False)
        assert f"{name} leads out of the results." in written.warnings[0]
        (root / name).unlink()
        (root / f"inner-{name}").write_bytes(PIXEL)
        (root / name).symlink_to(root / f"inner-{name}")
        written = write_report(root, tmp_path / "r.html", replays=False)
        assert f"{name} is a link" in written.warnings[0]


def test_runs_without_digests_are_told_in_one_line(tmp_path):
    for seed in range(3):
        make_run(tmp_path / "in" / f"s{seed}", seed=seed)
    assert not write_report(tmp_path / "in", tmp_path / "r.html").warnings
    for seed in range(2):
        (tmp_path / "in" / f"s{seed}" / "SHA256SUMS").unlink()
    written = write_report(tmp_path / "in", tmp_path / "r.html", replays=False)
    (line,) = written.warnings
    assert line.startswith("2 of 3 runs are unverified")


def test_an_unwritable_place_is_one_line_and_nothing_is_left(tmp_path):
    make_run(tmp_path / "a")
    (tmp_path / "r.html").mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SfpError, match="is a folder: expected the name of a file"):
        write_report(tmp_path, tmp_path / "r.html", replays=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(SfpError, match=r"cannot write"):
        write_report(tmp_path, tmp_path / "file" / "r.html", replays=False)
    (tmp_path / "file").unlink()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, [0, 50, 100]),
        (0.0, 1.0, [0, 0.5, 1]),
        (-3, 3, [-2, 0, 2]),
        (0, 60_000, [0, 20_000, 40_000, 60_000]),
        (0, 3e-7, [0, 1e-7, 2e-7, 3e-7]),
    ],
)
def test_ticks_are_round_and_inside(low, high, expected):
    assert ticks(float(low), float(high), 3) == pytest.approx(expected)


def test_numbers_for_people_and_scripts():
    assert [brief(v) for v in (0.0, 500.0, 2e4, 1.5e6, 2e9)] == [
        "0",
        "500",
        "20k",
        "1.5M",
        "2G",
    ]
    assert numbers([1.0, 0.123456789, np.nan, np.inf, 123456.7]) == [
        1,
        0.12346,
        None,
        None,
        123457,
    ]
    assert script_json({"a": "</script>&"}) == '{"a":"\\u003c/script>\\u0026"}'
    link = unquote(csv_link([{"a": 1 / 3, "b": "x,y"}], "numbers"))
    assert 'utf-8,a,b\n0.333333,"x,y"\n"' in link
    rows = [{"by": "t", "m": "<b>", "v": 1.5}, {"by": "t", "m": None, "v": 12345}]
    made = table(rows, by="by")
    assert made.count('class="group"') == 1
    assert "&lt;b&gt;" in made
    assert '<td class="number">12,345</td>' in made


def test_long_tables_say_what_they_leave_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "1\n" * 75)
    content, link = file_table(path)
    assert "15 more rows are in the CSV" in content
    assert unquote(link).count("\n1") == 75
    path.write_text("name,x,x_std,y_std\na,0.5,0.25,1\n")
    content, _ = file_table(path)
    assert "0.5 ± 0.25" in content
    assert "x_std" not in content
    assert "y_std" in content
    large = tmp_path / "p.svg"
    large.write_bytes(b" " * 5_000_000)
    with pytest.raises(SfpError, match="too large to embed"):
        picture(large, "x")


def test_the_conclusion_stands_at_the_top(tmp_path):
    for seed in range(4):
        make_run(tmp_path / f"a{seed}", seed=seed)
        make_run(tmp_path / f"b{seed}", seed=seed, method="sac", solves_at=None)
    text = write_report(tmp_path, tmp_path / "r.html").path.read_text()
    lead = text.partition('class="lead">')[2].partition("</p>")[0]
    assert lead == (
        "Runs that solved their task: sfp 4 of 4, sac 0 of 4. sfp ends with more "
        "return than sac."
    )


def test_wall_time_is_shown(tmp_path):
    folder = make_run(tmp_path / "a")
    (folder / "timing.csv").write_text("step,charts/SPS,charts/seconds\n800,10,3725\n")
    sign(folder)
    text = write_report(tmp_path, tmp_path / "r.html").path.read_text()
    assert text.count("1:02:05") >= 2  # of all, and of the run


def test_negative_returns_are_points_and_axes_end_above_the_curve(tmp_path):
    make_run(tmp_path / "a", task="Pendulum-v1", level=-150.0)
    text = write_report(tmp_path, tmp_path / "r.html").path.read_text()
    assert 'class="dot"' in text
    assert 'class="bar"' not in text
    assert tick_size(0.0, 93.0, 4) == 25.0
    assert _heights([], 93.0) == (0.0, 100.0)
