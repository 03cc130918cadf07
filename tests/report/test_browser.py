"""The report in a real browser: Chromium, without a screen and without a network."""

import re
import shutil

import PIL.Image
import pytest

pytestmark = pytest.mark.slow

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser test needs playwright: pip install it"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip(
        "the browser test needs Chromium: apt-get install chromium",
        allow_module_level=True,
    )
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
]
SECTION = "#transfer"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, written):
    """Open the report in a window; whatever goes wrong in it fails the test."""
    contexts, wrong = [], []

    def open_page(width=1280, **options):
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on(
            "request",
            lambda asked: (
                None
                if asked.url.startswith(("file:", "data:"))
                else wrong.append(asked.url)
            ),
        )
        page.goto(written.path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def chart(page, title):
    figures = page.locator(f"{SECTION} figure.chart")
    return figures.filter(has=page.get_by_text(title, exact=True))


def visible(page, selector):
    """How many elements have a box on the page."""
    return page.locator(selector).evaluate_all(
        "all => all.filter(one => one.getClientRects().length).length"
    )


def test_figures_are_there_and_have_lines(open_page):
    page = open_page()
    assert page.title() == "out: report"
    assert page.locator(f"{SECTION} figure.chart").count() == 10
    assert visible(page, f"{SECTION} .chart .mean") >= 16
    assert visible(page, f"{SECTION} .band") > 0
    assert visible(page, f"{SECTION} .bar") == 8
    images = page.locator("figure img").evaluate_all(
        "all => all.map(i => i.naturalWidth)"
    )
    assert images == [1]


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_sideways_scrolling(open_page, width, scheme):
    page = open_page(width, color_scheme=scheme)
    root = "document.documentElement"
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(f"{root}.scrollWidth") == width
    sizes = page.locator("figure.chart > svg").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width)"
    )
    assert min(sizes) > 300  # text keeps its size


def test_hovering_shows_values(open_page):
    page = open_page()
    figure = chart(page, "maze: Test return")
    figure.scroll_into_view_if_needed()
    box = figure.locator("svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.95, box["y"] + box["height"] / 2)
    tip = figure.locator(".tip")
    words = " ".join(tip.inner_text().split())
    assert words == "step 800 SFP 101 [100, 102] SAC 0 [0, 0]"
    inside = tip.bounding_box()
    assert inside is not None
    assert box["x"] <= inside["x"]
    assert inside["x"] + inside["width"] <= box["x"] + box["width"] + 1
    assert box["y"] <= inside["y"] < box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    assert tip.inner_text().startswith("step 200")
    page.mouse.move(5, 5)
    assert tip.count() == 0


def test_keys_move_along_the_curve(open_page):
    page = open_page()
    figure = chart(page, "maze: Test return")
    figure.locator("svg").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert figure.locator(".tip").inner_text().startswith("step 300")
    page.keyboard.press("Escape")
    assert figure.locator(".tip").count() == 0


def test_lambda_against_return_answers_too(open_page):
    page = open_page()
    figure = chart(page, "maze: λ against return")
    figure.scroll_into_view_if_needed()
    box = figure.locator("svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.15, box["y"] + 12)
    assert re.match(
        r"step \d+ SFP λ 0\.05\d* return 101",
        " ".join(figure.locator(".tip").inner_text().split()),
    )


def test_keys_move_along_lambda_against_return(open_page):
    page = open_page()
    figure = chart(page, "maze: λ against return")
    figure.locator("svg").focus()
    said = []
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        said.append(figure.locator(".tip").inner_text().split("\n")[0])
    assert said == ["step 100", "step 200", "step 300", "step 400"]
    page.keyboard.press("Escape")
    assert figure.locator(".tip").count() == 0


def test_methods_and_seeds_can_be_switched(open_page):
    page = open_page()
    figure = chart(page, "maze: Test return")
    form = page.locator(f"{SECTION} form.legend")
    lines = f"{SECTION} .chart .mean"
    before = visible(page, lines)
    form.get_by_label("SAC").uncheck()
    assert 0 < visible(page, lines) < before
    figure.scroll_into_view_if_needed()
    figure.locator("svg").hover()
    assert "SAC" not in figure.locator(".tip").inner_text()
    form.get_by_label("SAC").check()
    assert visible(page, lines) == before

    seeds = f"{SECTION} .seed"
    assert visible(page, seeds) == 0
    form.get_by_label("1", exact=True).check()
    some = visible(page, seeds)
    assert some > 0
    figure.locator("svg").hover()
    assert "seed 1:" in figure.locator(".tip").inner_text()
    form.get_by_label("all").check()
    assert visible(page, seeds) == 3 * some
    form.get_by_label("2", exact=True).uncheck()
    assert not form.get_by_label("all").is_checked()
    assert visible(page, seeds) == 2 * some


def test_a_replay_plays(open_page):
    page = open_page(reduced_motion="reduce")
    figure = page.locator("figure.replay").first
    figure.scroll_into_view_if_needed()
    walker = figure.locator(".walker").first
    end = walker.get_attribute("cx"), walker.get_attribute("cy")
    assert "step 500" in figure.locator("output").inner_text()
    figure.locator("input").fill("0")
    assert "step 0" in figure.locator("output").inner_text()
    assert (walker.get_attribute("cx"), walker.get_attribute("cy")) != end
    figure.get_by_role("button").click()
    assert figure.get_by_role("button").inner_text() == "Pause"
    page.wait_for_function("document.querySelector('.replay input').value > 3")
    figure.get_by_role("button").click()
    assert figure.get_by_role("button").inner_text() == "Play"


def test_the_numbers_can_be_saved(open_page):
    page = open_page()
    figure = chart(page, "maze: Test return")
    with page.expect_download() as waiting:
        figure.get_by_role("link", name="CSV").click()
    saved = waiting.value
    assert saved.suggested_filename == "transfer-maze-return.csv"
    with open(saved.path()) as file:
        assert file.readline() == "method,seed,step,value,low,high,n\n"


def test_a_figure_can_be_saved_as_a_picture(open_page):
    page = open_page()
    with page.expect_download() as waiting:
        chart(page, "maze: Test return").get_by_role("button", name="PNG").click()
    saved = waiting.value
    assert saved.suggested_filename == "maze-Test-return.png"
    with PIL.Image.open(saved.path()) as image:
        assert image.size == (1200, 750)
        assert len(image.convert("RGB").getcolors(10**6)) > 20  # more than a blank


def test_a_table_is_sorted_by_a_click(open_page):
    page = open_page()
    table = page.locator("#_runs table").first
    names = table.locator("thead th").all_inner_texts()
    column = names.index("seed")

    def seeds():
        cells = table.locator(f"tbody td:nth-child({column + 1})").all_inner_texts()
        return [int(text) for text in cells]

    before = seeds()
    head = table.locator("thead th").nth(column)
    head.click()
    assert seeds() == sorted(before) != before
    assert head.get_attribute("aria-sort") == "ascending"
    head.press("Enter")
    assert seeds() == sorted(before, reverse=True)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_never_wider_than_the_window(open_page, width):
    page = open_page(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 1280:
        box = page.locator("#_summary .scroll").first
        assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth")


def test_a_configuration_opens_from_the_table(open_page):
    page = open_page()
    page.locator("#_runs").get_by_role("link", name="#2").first.click()
    page.locator("#_config-2[open]").wait_for()


def test_without_a_script_the_curves_are_there(open_page):
    page = open_page(java_script_enabled=False)
    assert chart(page, "maze: Test return").locator(".mean").count() == 2
    assert page.locator(f"{SECTION} .seeds").is_hidden()
