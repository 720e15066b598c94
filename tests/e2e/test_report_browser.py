#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""test_report_browser.py BUILD-DIRECTORY: the page of `wetdbg locate --html` in headless Chromium, driven by ChromeDriver:
keys, clicks and themes do what they say, nothing is wider than the window, and nothing is loaded or complained about."""
import json
import os
import shutil
import signal
import subprocess
import urllib.request

import e2e

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync"]
CONTRAST = """
// WCAG's contrast of each text with what is behind it; those below 4.5 (large ones: 3).
const channels = (color) => color.match(/[\\d.]+/g).map(Number);
const light = (color) => channels(color).slice(0, 3).map((c) => c / 255)
  .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (one) => { for (; one; one = one.parentElement) {
  const color = getComputedStyle(one).backgroundColor;
  if (channels(color)[3] !== 0) return color; } return "rgb(255, 255, 255)"; };
const poor = new Set();
for (const one of document.querySelectorAll("body *")) {
  if (!Array.from(one.childNodes).some((node) => node.nodeType === 3 && node.data.trim()) || !one.getClientRects().length) continue;
  const style = getComputedStyle(one), sizes = [light(style.color), light(behind(one))].sort((a, b) => b - a);
  const ratio = (sizes[0] + 0.05) / (sizes[1] + 0.05);
  if (one.disabled) continue;
  if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) poor.add(one.tagName + "." + one.className + " " + ratio.toFixed(2));
}
return Array.from(poor);
"""


class Browser:
    """WebDriver over HTTP on this machine."""

    def __init__(self, bench, driver):
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        start_new_session=True, env=bench.environment)
        for line in self.process.stdout:
            if "successfully on port " in line:
                self.base = "http://127.0.0.1:" + line.rsplit("port ", 1)[1].strip(" .\n")
                break
        arguments = OPTIONS + [f"--user-data-dir={bench.path('profile')}"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments},
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def post(self, what, **body):
        return self.ask("POST", f"/session/{self.session}/{what}", body)

    def run(self, script, *arguments):
        return self.post("execute/sync", script=script, args=list(arguments))

    def wait(self, script, *arguments):
        """What the script gives to the function that it gets as its last argument."""
        return self.post("execute/async", script=script, args=list(arguments))

    def key(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.post("actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def size(self, width, height):
        self.post("goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride",
                  params={"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def close(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()


DOWN, UP, TAB = "\ue015", "\ue013", "\ue004"
STEP = "return Array.from(document.querySelectorAll('.steps')[0].querySelectorAll('summary')).findIndex((s) => s.hasAttribute('aria-current'))"


def check_keys(bench, browser):
    count = browser.run("return document.querySelectorAll('.steps')[0].querySelectorAll(':scope > .step').length")
    browser.key(TAB)
    bench.check(browser.run("return document.activeElement.className") == "skip", "the first stop is the link past the head")
    browser.key("j")
    bench.check(browser.run(STEP) == 0, "j goes to the first step")
    browser.key("j")
    bench.check(browser.run(STEP) == 1 and browser.run("return document.activeElement.matches('.steps [aria-current]')"), "j goes on, with the focus")
    bench.check(browser.run("return document.querySelectorAll('.steps')[0].querySelectorAll('details[open]').length") == 1, "one step is open")
    browser.key(UP)
    bench.check(browser.run(STEP) == 0, "the arrow goes back")
    browser.key(*([DOWN] * (count + 3)))
    bench.check(browser.run(STEP) == count - 1, "the last step is the last")
    browser.key("k")
    bench.check(browser.run(STEP) == count - 2, "k goes back")
    browser.run("document.querySelector('.suspects summary').focus()")
    browser.key("j")
    bench.check(browser.run("return document.activeElement.matches('#suspect2 summary')"), "in the list of suspects j steps there")


def check_clicks(bench, browser):
    step = browser.run(STEP)
    browser.run("document.querySelectorAll('.steps')[0].querySelectorAll('summary')[0].click()")
    bench.check(browser.run(STEP) == 0 and step > 0, "a click goes to its step")
    press = "document.querySelector('.bar').querySelectorAll('button')[arguments[0]].click();" + STEP
    bench.check(browser.run(press, 1) == 1 and browser.run(press, 0) == 0, "the buttons step")
    here = "return Array.from(document.querySelectorAll('tr.here')).map((row) => row.id)"
    line = browser.run("return document.querySelector('.step').dataset.line")
    bench.check(line and browser.run(here) == [line], "its line is marked in the source")
    browser.run("document.querySelector('.story a').click()")
    bench.check(browser.run("return document.querySelector('tr:target') !== null"), "a place leads to its line")
    texts = [browser.run("const b = document.getElementById('theme'); b.click(); return [b.textContent, getComputedStyle(document.body).backgroundColor]")
             for _ in range(3)]
    bench.check([text for text, _ in texts] == ["Theme: light", "Theme: dark", "Theme: as the system"] and texts[0][1] != texts[1][1], f"{texts}")


def check_look(bench, browser):
    """Nothing is wider than the window, and all text can be read, in both themes."""
    for width in (360, 768, 1280, 3840):
        browser.size(width, 900)
        wide = browser.run("return document.documentElement.scrollWidth")
        bench.check(wide <= width, f"{wide} wide in a window of {width}")
    browser.size(1280, 900)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for theme in ("light", "dark"):
        poor = browser.run("document.documentElement.dataset.theme = arguments[0];" + CONTRAST, theme)
        bench.check(poor == [], f"contrast in {theme}: {poor[:10]}")


def check_readers(bench, browser):
    """What axe-core says of the page, all of it unfolded, in both themes: rules of WCAG 2.2 up to AA, and its best practices."""
    try:
        with open(f"{bench.build}/tests/axe.min.js") as file:
            axe = file.read()
    except FileNotFoundError:
        print("SKIPPED: e2e_report_browser: axe-core is not there: tests/get_from_npm BUILD fetches it")
        return
    browser.run(axe)
    for theme in ("light", "dark"):
        found = browser.wait("document.documentElement.dataset.theme = arguments[0]; const done = arguments[1];"
                             "axe.run(document, { resultTypes: ['violations', 'incomplete'] }).then(done);", theme)
        bench.check(len(found["passes"]) > 20, f"axe-core looked at {[rule['id'] for rule in found['passes']]}")
        bench.check(found["violations"] == [], f"axe-core in {theme}: "
                    f"{[(rule['id'], rule['help'], [node['html'] for node in rule['nodes']][:3]) for rule in found['violations']]}")


def check_outcomes(bench, browser):
    """Of a crash that a decision made the other way avoids, both runs stand side by side."""
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_symtab")
    page = bench.path("crash.html")
    bench.wet("locate", "--crash", f"--html={page}", "--budget=20", "--", f"{bench.programs}/fault_symtab_O0", *fault.arguments)
    browser.post("url", url=f"file://{page}")
    widths = browser.run("return Array.from(document.querySelectorAll('.ends td')).map((one) => one.clientWidth)")
    bench.check(widths and min(widths) > 200, f"cells of both outcomes are {widths} wide")


def check_quiet(bench, browser, page):
    """Nothing is said in the console, and nothing but the page itself was asked for."""
    said = browser.post("se/log", type="browser")
    bench.check(said == [], f"the console has {said}")
    events = [json.loads(row["message"])["message"] for row in browser.post("se/log", type="performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # The browser's own start page has parts of its own.
    theirs = ("data:", "chrome:", "chrome-untrusted:")
    bench.check([url for url in asked if not url.startswith(theirs)] == [f"file://{page}"], f"asked for {asked}")


def run_test(bench, _):
    driver = shutil.which("chromedriver")
    if not driver or not shutil.which("chromium"):
        print("SKIPPED: e2e_report_browser: no chromium with its driver (Debian: chromium, chromium-driver)")
        return
    fault = next(fault for fault in e2e.faults() if fault.program == "fault_ledger")
    program, page = f"{bench.programs}/fault_ledger_O0", bench.path("page.html")
    with open(bench.path("right"), "w") as file:
        file.write(bench.run(f"{program}_fixed", stdin=fault.stdin).out)
    run = bench.wet("locate", f"--html={page}", "--budget=3", f"--expect={bench.path('right')}", "--", program, stdin=fault.stdin)
    if not bench.check(run.status == 0, "a page", run):
        return
    browser = Browser(bench, driver)
    try:
        browser.size(1280, 900)
        browser.post("url", url=f"file://{page}")
        check_keys(bench, browser)
        check_clicks(bench, browser)
        check_look(bench, browser)
        check_quiet(bench, browser, page)
        check_readers(bench, browser)
        check_outcomes(bench, browser)
    finally:
        browser.close()


e2e.main(run_test)
