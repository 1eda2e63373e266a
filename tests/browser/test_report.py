# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML report in a real browser: what a user sees, and that the page sends no request."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import comply
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import profiles
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import output
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.page import compliance, page
from tests.support.report.browser import chromium, prefer
from tests.support.report.played_rollout import Played, example

EVIL = '<img src=x onerror="document.title=1">'
CLOSING = "</script><script>document.title=2</script>"


@pytest.fixture(scope="module")
def browser() -> t.Iterator[webdriver.Chrome]:
    """One browser for all; each test opens a page of its own."""
    with chromium() as driver:
        yield driver


@pytest.fixture
def show(browser: webdriver.Chrome, tmp_path: Path) -> t.Callable[[t.Any], webdriver.Chrome]:
    """Open the report of a rollout."""

    def opened(rollout: t.Any) -> webdriver.Chrome:
        path = tmp_path / "report.html"
        page.write(str(path), output.document(rollout))
        prefer(browser, "light")
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(path.as_uri())
        return browser

    return opened


def lines(driver: webdriver.Chrome) -> list[str]:
    """The visible names in the table."""
    return driver.execute_script(
        "return [...document.querySelectorAll('.line:not([hidden])')].map((line) => line.children[0].textContent)"
    )


@pytest.mark.parametrize("size", [3, 100, 3000])
def test_all_nodes_with_failures_first_and_without_requests(
    show: t.Callable[[t.Any], webdriver.Chrome], size: int
) -> None:
    rollout = example(size)
    driver = show(rollout)
    names = lines(driver)
    failed = {name for name, node in rollout.nodes.items() if node.cause}
    assert set(names) == set(rollout.nodes)
    assert failed and set(names[: len(failed)]) == failed
    top = {part: driver.find_element(By.ID, part).location["y"] for part in ("failures", "changes", "nodes")}
    assert top["failures"] < top["changes"] < top["nodes"]
    for name in failed:
        assert name in driver.find_element(By.ID, "failures").text
    # Nothing is wider than the window, at a desktop and at a phone width.
    for width in (1360, 390):
        driver.set_window_size(width, 900)
        assert driver.execute_script(
            "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        ), width
    driver.set_window_size(1360, 900)
    assert driver.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    urls = {entry["params"]["request"]["url"] for entry in messages if entry["method"] == "Network.requestWillBeSent"}
    assert {url for url in urls if not url.startswith("data:")} == {driver.current_url}
    assert [
        entry
        for entry in driver.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
        if entry != "data:,"
    ] == []


@pytest.mark.parametrize("width", [1360, 700])
def test_short_values_stay_in_one_line(show: t.Callable[[t.Any], webdriver.Chrome], width: int) -> None:
    driver = show(example(3))
    driver.set_window_size(width, 900)
    driver.execute_script("document.querySelector('.after code').textContent = 'TLS_AES_128_GCM_SHA256'")
    heights = {cell.text: cell.size["height"] for cell in driver.find_elements(By.CSS_SELECTOR, ".after code")}
    assert {"TLS_AES_128_GCM_SHA256", "80"} <= set(heights)
    assert len(set(heights.values())) == 1, heights
    driver.set_window_size(1360, 900)


@pytest.mark.parametrize("width", [1360, 390])
def test_effect_took_and_scale_are_visible(show: t.Callable[[t.Any], webdriver.Chrome], width: int) -> None:
    driver = show(example(3))
    driver.set_window_size(width, 900)
    for selector in (".plan td:last-child", ".line > .number:last-child", ".scale span"):
        for cell in driver.find_elements(By.CSS_SELECTOR, selector):
            assert cell.is_displayed() and cell.text, selector
            assert cell.rect["x"] + cell.rect["width"] <= driver.execute_script("return innerWidth"), selector
    assert driver.find_element(By.CSS_SELECTOR, ".scale span").text == "0 s"
    driver.set_window_size(1360, 900)


def test_requests_to_the_outside_are_refused(show: t.Callable[[t.Any], webdriver.Chrome]) -> None:
    driver = show(example(3))
    refused = driver.execute_async_script("""
        const done = arguments[0], seen = [];
        document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
        document.body.append(Object.assign(document.createElement("img"), {src: "http://127.0.0.1:9/x.png"}));
        document.body.append(Object.assign(document.createElement("script"), {textContent: "document.title = 'ran'"}));
        fetch("http://127.0.0.1:9/").catch(() => {}).then(() => setTimeout(() => done(seen), 200));""")
    assert {"img-src", "script-src-elem", "connect-src"} <= set(refused)
    assert driver.title != "ran"
    driver.get_log("browser")


def test_text_from_outside_stays_text(show: t.Callable[[t.Any], webdriver.Chrome]) -> None:
    names = [EVIL, CLOSING, "{{data}}"]
    rollout = Played(3, dict.fromkeys(names, (f'"><b>{EVIL}', f"{CLOSING} NODE {EVIL}")), names).rollout
    rollout.group = EVIL
    rollout.messages.append(CLOSING)
    for change in rollout.changes[0]["changes"]:
        change.update(path=EVIL, before=EVIL, after={"a": CLOSING}, reason=EVIL)
    rollout.changes[0]["variants"].append(CLOSING)
    rollout.forecast = {"summary": {}, "text": [EVIL, CLOSING]}
    rollout.end(rollout.ended)
    driver = show(rollout)
    assert set(lines(driver)) == set(names)
    assert EVIL in driver.find_element(By.TAG_NAME, "h1").text
    assert CLOSING in driver.find_element(By.ID, "failures").text
    assert EVIL in driver.find_element(By.ID, "changes").text
    driver.find_element(By.CSS_SELECTOR, ".line").click()
    assert driver.find_element(By.ID, "detail-name").text in names
    assert CLOSING in driver.find_element(By.ID, "detail").text
    assert driver.find_elements(By.CSS_SELECTOR, "main img, header img, dialog img, h1 b, main b b") == []
    assert driver.title not in ("1", "2")
    assert driver.get_log("browser") == []


def test_search_filters_and_order(show: t.Callable[[t.Any], webdriver.Chrome]) -> None:
    driver = show(example(100))
    search = driver.find_element(By.ID, "search")
    search.send_keys("worker-001")
    assert sorted(lines(driver)) == [f"worker-{number:04}.example.com" for number in range(10, 20)]
    assert driver.find_element(By.ID, "shown").text == "10 of 100"
    search.clear()
    search.send_keys("MAXPODS is 110")
    assert sorted(lines(driver)) == [f"worker-{number:04}.example.com" for number in (42, 43, 44)]
    driver.find_element(By.ID, "clear").click()
    assert len(lines(driver)) == 100
    state = Select(driver.find_element(By.ID, "state"))
    state.select_by_visible_text("reverted (2)")
    assert sorted(lines(driver)) == ["worker-0017.example.com", "worker-0042.example.com"]
    state.select_by_value("")
    Select(driver.find_element(By.ID, "batch")).select_by_value("1")
    assert lines(driver) == ["worker-0001.example.com"]
    search.send_keys("no such node")
    assert lines(driver) == [] and driver.find_element(By.ID, "none").is_displayed()
    driver.find_element(By.ID, "clear").click()
    name = driver.find_element(By.XPATH, "//*[@role='columnheader']/button[text()='Node']")
    for direction, wanted in (("ascending", [1, 2, 3]), ("descending", [100, 99, 98])):
        name.click()
        assert lines(driver)[:3] == [f"worker-{number:04}.example.com" for number in wanted]
        assert name.find_element(By.XPATH, "..").get_attribute("aria-sort") == direction


def test_by_keyboard_alone(show: t.Callable[[t.Any], webdriver.Chrome]) -> None:
    driver = show(example(100))
    body = driver.find_element(By.TAG_NAME, "body")
    body.send_keys("/")
    assert driver.switch_to.active_element.get_attribute("id") == "search"
    for _attempt in range(20):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        if driver.switch_to.active_element.get_attribute("role") == "row":
            break
    names = lines(driver)
    driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert driver.find_element(By.ID, "detail-name").text == names[1]
    assert driver.find_element(By.ID, "detail").is_displayed()
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not driver.find_element(By.ID, "detail").is_displayed()
    driver.switch_to.active_element.send_keys(Keys.END)
    assert driver.execute_script("return document.activeElement.firstChild.textContent") == names[-1]


def test_light_dark_and_the_switch(show: t.Callable[[t.Any], webdriver.Chrome]) -> None:
    driver = show(example(3))

    def bright() -> bool:
        red = driver.execute_script(
            "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
        )
        return bool(red > 128)

    assert bright()
    prefer(driver, "dark")
    assert not bright()
    switch = driver.find_element(By.ID, "theme")
    switch.click()
    assert switch.text == "Theme: light" and bright()
    switch.click()
    prefer(driver, "light")
    assert switch.text == "Theme: dark" and not bright()
    switch.click()
    assert switch.text == "Theme: auto" and bright()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_text_has_the_contrast_that_wcag_requires(
    show: t.Callable[[t.Any], webdriver.Chrome], scheme: str
) -> None:
    driver = show(example(100))
    prefer(driver, scheme)
    worst = driver.execute_script("""
        const linear = (c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
        const light = (rgb) => rgb.map((part) => linear(part / 255))
          .reduce((sum, part, index) => sum + part * [.2126, .7152, .0722][index], 0);
        const read = (color) => color.match(/[\\d.]+/g).map(Number);
        const ground = (element) => { for (; element; element = element.parentElement) {
          const color = read(getComputedStyle(element).backgroundColor);
          if (color.length < 4 || color[3]) return color.slice(0, 3); } return [255, 255, 255]; };
        const small = "p, .chip, .badge, .tile span, .quiet, .name, td code, label, .heads button, nav a, .legend li";
        let worst = [99, ""];
        for (const element of document.querySelectorAll(small)) {
          const one = light(read(getComputedStyle(element).color).slice(0, 3)), other = light(ground(element));
          const ratio = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
          if (ratio < worst[0]) worst = [ratio, `${element.className} ${element.textContent}`];
        }
        return worst;""")
    assert worst[0] >= 4.5, worst


def test_three_thousand_nodes_are_small_and_quick(show: t.Callable[[t.Any], webdriver.Chrome], tmp_path: Path) -> None:
    driver = show(example(3000))
    times = driver.execute_script(
        "const one = performance.getEntriesByType('navigation')[0];"
        "return [one.domContentLoadedEventEnd, one.loadEventEnd]"
    )
    size = (tmp_path / "report.html").stat().st_size
    print(f"{size / 1e6:.2f} MB, loaded in {times[1]:.0f} ms")
    assert size < 3e6
    # Several times the usual time on two busy cores.
    assert times[1] < 10_000


def test_the_page_of_a_compliance_check(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """It has colours, fits a phone, and sends no request."""
    row = {"profile": "cis-1.12", "title": "a title " * 9, "value": "/v" * 40}
    row |= {"origin": f"file {'/o' * 40}", "message": EVIL}
    terms = {"owner": "ops", "until": "2027-03-31", "reason": "r" * 80}
    rows = [
        {**row, "item": "4.2.4", "verdict": profiles.FAIL, "exception": None},
        {**row, "item": "4.2.9", "verdict": profiles.EXCEPTED, "exception": terms},
        {**row, "item": "4.2.10", "verdict": profiles.PASS, "exception": None},
    ]
    nodes = {f"node-{number}.example.org": {"rows": rows} for number in range(40)}
    made = {"nodes": nodes, "summary": {"checked": "2026-11-27T05:00:00Z", **comply.summary(nodes)}}
    path = tmp_path / "compliance.html"
    path.write_text(compliance.make(made), encoding="utf-8")
    prefer(browser, "light")
    browser.get_log("browser")
    browser.get(path.as_uri())
    assert [head.text for head in browser.find_elements(By.TAG_NAME, "h2")] == ["Failures", "Exceptions", "All items"]
    chip = browser.find_element(By.CSS_SELECTOR, ".chip.s-failed")
    assert chip.value_of_css_property("background-color") != "rgba(0, 0, 0, 0)"
    for width in (1360, 390):
        browser.set_window_size(width, 900)
        assert browser.execute_script(
            "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        ), width
    browser.set_window_size(1360, 900)
    assert browser.get_log("browser") == [] and browser.title.startswith("Not compliant")
