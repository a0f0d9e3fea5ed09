"""Pages in a browser: Chromium without a window, where the system has it."""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler.cli import run_command
from npuc.compiler.report.page.step import Extras, step_page
from npuc.compiler.report.page.write import html_page
from npuc.compiler.report.report import make_report
from npuc.compiler.report.rows import OpRow

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(
        find_spec("selenium") is None or CHROMIUM is None or DRIVER is None,
        reason="needs the optional group browser, and Chromium",
    ),
    pytest.mark.heavy,
]
SIZES = [(400, 800), (1600, 1000)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(CHROMIUM)
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    found.execute_cdp_cmd("Network.enable", {})
    found.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield found
    found.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "lenet.html"
    assert run_command(["compile", "samples:lenet", "-b", "cycle", "--html", str(path), "-q"]) == 0
    return path


def opened(browser: Any, path: Path, size: tuple[int, int] = SIZES[1], scheme: str = "light") -> Any:
    """A page at a size in CSS pixels, drawn, in a colour scheme."""
    width, height = size
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(path.as_uri())
    # the drawings follow their places, of which the browser tells after the first frame
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    return browser


def all_of(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements("css selector", selector)


def table(browser: Any, title: str) -> Any:
    return browser.find_element("css selector", f'table[aria-label="{title}"]')


def cells(browser: Any, title: str, place: int) -> list[str]:
    return [row.text for row in table(browser, title).find_elements("css selector", f"tbody td:nth-child({place})")]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_drawn_and_nothing_is_wrong(browser: Any, page: Path, size: tuple[int, int], scheme: str) -> None:
    opened(browser, page, size, scheme)
    assert browser.get_log("browser") == []
    titles = [one.text for one in all_of(browser, "main h2") if one.is_displayed()]
    assert titles == [
        *("Summary", "What limits the time", "Time by phase", "Where it goes", "Layers", "Roofline"),
        *("Memory over the step", "Timeline", "Machine", "Program"),
    ]
    for svg in all_of(browser, "main svg"):
        assert svg.get_attribute("aria-label")
        assert svg.find_elements("css selector", "rect, circle, polygon")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")


def test_a_heading_sorts_and_again_turns_around(browser: Any, page: Path) -> None:
    opened(browser, page)
    first = cells(browser, "Layers", 1)
    by_time = "Array.from(arguments[0].columns.find((c) => c.name === 'time').values)"
    data = browser.execute_script(
        "const t = JSON.parse(document.getElementById('data').textContent).find((s) => s.name === 'layers');"
        f"return [t.columns[0].values, ({by_time.replace('arguments[0]', 't')})]"
    )
    order = [name for _, name in sorted(zip(data[1], data[0], strict=True), key=lambda pair: -pair[0])]
    button = table(browser, "Layers").find_element("css selector", '[data-column="time"]')
    button.click()
    assert cells(browser, "Layers", 1) == order
    assert browser.switch_to.active_element.get_attribute("data-column") == "time"
    browser.switch_to.active_element.click()
    assert cells(browser, "Layers", 1) == order[::-1]
    heads = table(browser, "Layers").find_elements("css selector", "th")
    assert [head.get_attribute("aria-sort") for head in heads][:2] == ["none", "ascending"]
    assert sorted(first) == sorted(order)


def test_a_filter_keeps_rows_with_words_or_numbers(browser: Any, page: Path) -> None:
    opened(browser, page)
    (field,) = [
        one for one in all_of(browser, "input[type=search]") if one.get_attribute("aria-label") == "Filter Layers"
    ]
    every = cells(browser, "Layers", 1)
    for text, kept in [("conv", [name for name in every if "conv" in name]), ("layer:fc3", ["fc3", "fc3.flatten"])]:
        field.clear()
        field.send_keys(text)
        assert set(cells(browser, "Layers", 1)) <= set(kept)
        assert cells(browser, "Layers", 1)
    field.clear()
    field.send_keys("time>10us macs>1")
    assert 0 < len(cells(browser, "Layers", 1)) < len(every)


def test_a_row_is_selected_everywhere_by_the_keyboard(browser: Any, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, page)
    first = table(browser, "Layers").find_element("css selector", "tbody tr")
    assert first.get_attribute("tabindex") == "0"
    first.send_keys(Keys.ARROW_DOWN)
    row = browser.switch_to.active_element
    name = row.find_element("css selector", "td").text
    row.send_keys(Keys.ENTER)
    chosen = table(browser, "Layers").find_elements("css selector", 'tr[aria-selected="true"]')
    assert [one.find_element("css selector", "td").text for one in chosen] == [name]
    assert set(cells(browser, "Operations of the selected layer", 1)) == {name}
    (text,) = [one for one in all_of(browser, "section.wide pre") if one.is_displayed()]
    for _ in range(50):
        if text.text:
            break
        browser.execute_async_script("setTimeout(arguments[0], 20)")
    assert f'layer = "{name}"' in text.text
    assert all_of(browser, "svg .picked")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert not all_of(browser, "svg .picked")
    assert not [one for one in all_of(browser, "section.wide pre") if one.is_displayed()]


def test_what_is_selected_in_a_chart_comes_into_view(browser: Any, page: Path) -> None:
    opened(browser, page, (1600, 500))
    last = cells(browser, "Layers", 1)[-1]
    chosen = "document.querySelectorAll('svg[aria-label^=\"Where it goes\"] rect.item')"
    for number in range(browser.execute_script(f"return {chosen}.length")):
        browser.execute_script(f"{chosen}[{number}].dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        (row,) = table(browser, "Layers").find_elements("css selector", 'tr[aria-selected="true"]')
        box = browser.execute_script(
            "const [a, b] = [arguments[0], arguments[0].closest('.scroll')].map((one) => one.getBoundingClientRect());"
            "return [a.top - b.top, b.bottom - a.bottom]",
            row,
        )
        assert min(box) >= 0
    assert last


def test_the_timeline_zooms_by_keys(browser: Any, page: Path) -> None:
    opened(browser, page)
    (svg,) = [one for one in all_of(browser, "svg[tabindex]") if "Timeline" in one.get_attribute("aria-label")]
    whole = svg.get_attribute("aria-label")
    svg.send_keys("+")
    near = svg.get_attribute("aria-label")
    assert near != whole
    svg.send_keys("0")
    assert svg.get_attribute("aria-label") == whole


def test_backends_are_tabs_that_keys_choose(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    path, names = tmp_path / "page.html", ["cycle", "roofline", "maestro"]
    options = [word for name in names for word in ("-b", name)]
    assert run_command(["compile", "samples:lenet", *options, "--html", str(path), "-q"]) == 0
    opened(browser, path)
    tabs = all_of(browser, "[role=tab]")
    assert [one.text for one in tabs] == names

    def chosen() -> list[str]:
        (panel,) = [one for one in all_of(browser, "[role=tabpanel]") if one.is_displayed()]
        assert panel.find_elements("css selector", 'table[aria-label="Layers"] tbody tr')
        (tab,) = [one for one in tabs if one.get_attribute("aria-selected") == "true"]
        assert tab.get_attribute("tabindex") == "0"
        return [panel.get_attribute("aria-label"), tab.text]

    assert chosen() == ["cycle", "cycle"]
    for key, name in [(Keys.ARROW_RIGHT, "roofline"), (Keys.END, "maestro"), (Keys.ARROW_RIGHT, "cycle")]:
        browser.execute_script(
            "arguments[0].focus()", next(one for one in tabs if one.get_attribute("tabindex") == "0")
        )
        browser.switch_to.active_element.send_keys(key)
        assert chosen() == [name, name]
        assert browser.switch_to.active_element.text == name
    table(browser, "Layers").find_element("css selector", "tbody tr").click()
    assert len(all_of(browser, 'tr[aria-selected="true"]')) == 1  # rows of the other tabs are other ones
    assert browser.get_log("browser") == []


def test_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    names = ["</script><script>document.title='x'</script>", "<img src=x onerror=\"document.title='x'\">", "__proto__"]
    rows = [
        OpRow(index=n, name=name, op="npu.contract", seconds=1e-3, macs=10, limit=name, loc=name, cycles=5)
        for n, name in enumerate(names)
    ]
    report = make_report("cycle", {"name": "m", "clock_mhz": 1000.0}, rows, network="net", warnings=names)
    path = tmp_path / "hostile.html"
    programs = {name: name for name in names}
    path.write_text(html_page(step_page([report], Extras(programs=[programs]))), encoding="utf-8")
    opened(browser, path)
    for row in range(len(names)):
        table(browser, "Layers").find_elements("css selector", "tbody tr")[row].click()
    assert browser.title == "net: a forward pass on m"
    assert not all_of(browser, "img")
    assert cells(browser, "Layers", 1) == names
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["sweep", "samples:mlp", "--vary", "array.rows=32,64,128", "--vary", "batch=8,16"],
        ["map", "samples:mlp", "--budget", "20"],
        ["study", "crosscheck", "--preset", "os"],
        ["check", "samples:mlp"],
        ["compile", "samples:mlp", "-b", "cycle", "-b", "roofline", "-b", "maestro"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_pages_of_other_verbs(browser: Any, tmp_path: Path, arguments: list[str]) -> None:
    path = tmp_path / "page.html"
    assert run_command([*arguments, "--html", str(path), "-q"]) == 0
    opened(browser, path)
    assert browser.get_log("browser") == []
    assert all_of(browser, "tbody tr")
    (*_, last) = [one for one in all_of(browser, "table") if one.is_displayed()]
    for row in last.find_elements("css selector", "tbody tr")[:3]:
        row.click()
    assert browser.get_log("browser") == []


def test_a_selection_in_a_chart_is_seen_in_a_sorted_table_of_many_rows(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run_command(["compile", "samples:gpt2", "-b", "cycle", "--html", str(path), "-q"]) == 0
    opened(browser, path)
    table(browser, "Layers").find_element("css selector", '[data-column="time"]').click()
    assert len(cells(browser, "Layers", 1)) == 100
    last = "document.querySelectorAll('svg[aria-label^=\"Where it goes\"] rect.item')"
    browser.execute_script(f"[...{last}].at(-1).dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    (row,) = table(browser, "Layers").find_elements("css selector", 'tr[aria-selected="true"]')
    assert row.is_displayed()


def test_what_belongs_to_no_layer_is_never_selected(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    arguments = ["compile", "samples:lenet", "--devices", "4", "--hw", "hypar16", "--html", str(path), "-q"]
    assert run_command(arguments) == 0
    opened(browser, path)
    assert not all_of(browser, "svg .picked")
    table(browser, "Layers").find_element("css selector", "tbody tr").click()
    assert all_of(browser, "svg .picked")
    spans = "document.querySelectorAll('svg[aria-label^=\"Timeline\"] rect:not(.item)')"
    assert browser.execute_script(f"return {spans}.length") > 0
    browser.execute_script(f"{spans}[0].dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert all_of(browser, "svg .picked")


def test_filters_compare_as_people_write(browser: Any, page: Path) -> None:
    opened(browser, page)
    (field,) = [
        one for one in all_of(browser, "input[type=search]") if one.get_attribute("aria-label") == "Filter Layers"
    ]

    def kept(text: str) -> int:
        field.clear()
        field.send_keys(text)
        return len(cells(browser, "Layers", 1))

    every = kept(" ")
    assert kept("time>=0") == every
    assert 0 < kept("time > 10us") == kept("time>10us") == every - kept("time<=10us")
    assert kept("dram>1MB") >= kept("dram>1MiB") > 0
    shown = cells(browser, "Layers", 2)[0]
    assert kept(f"time={shown.replace(' ', '')}") >= 1
    assert kept("time>4parsec") == 0
    assert "not understood: time>4parsec" in browser.find_element("css selector", "main").text


def test_the_page_of_a_difference(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    arguments = ["diff", "samples:lenet", "--hw", "igo-large", "--hw", "tpu-v4", "--html", str(path), "-q"]
    assert run_command(arguments) == 0
    for size in SIZES:
        opened(browser, path, size)
        assert browser.get_log("browser") == []
        assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]
    titles = [one.text for one in all_of(browser, "main h2") if one.is_displayed()]
    assert titles == [
        *("Totals", "What was given, and differs", "Layers whose time differs", "Time in A and in B", "Layers"),
    ]
    table(browser, "Layers").find_element("css selector", "tbody tr").click()
    assert cells(browser, "Phases of the selected layer", 1)
    assert "null" not in [one.text for one in all_of(browser, ".legend span")]
    assert browser.get_log("browser") == []


def test_the_menu_of_columns_stays_on_a_narrow_page(browser: Any, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, page, SIZES[0])
    menu = next(one for one in all_of(browser, "details.columns > summary") if one.is_displayed())
    menu.click()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= SIZES[0][0]
    menu.send_keys(Keys.ESCAPE)
    assert not browser.execute_script("return document.querySelector('details.columns').open")
