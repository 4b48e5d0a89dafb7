"""A headless Chromium for tests of pages, and the few things that they do with it."""

import base64
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium import webdriver
from selenium.common.exceptions import NoSuchDriverException as NoDriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

__all__ = ["BROWSERS", "ENTER", "TAB", "Browser", "NoDriver", "find_browser"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Nothing of the user's, nothing of the network; a renderer in software where there is no graphics card.
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
)
# Seconds to wait for something that happens at once on a machine that is not busy.
PATIENCE = 60.0
# Coordinates of every row in the plot, from the pixels at which it is drawn; and the pixels of places of the plane.
PLOTTED = "return Array.from({ length: report.n }, (_, i) => toPlane(view.at[0][i], view.at[1][i]))"
PIXELS = """
const box = scatter.getBoundingClientRect();
return arguments[0].map((place) => toPixels(...place)).map(([x, y]) => [box.left + x, box.top + y]);
"""
# What has changed is drawn.
SETTLED = "return !view.pending"
TAB, ENTER = Keys.TAB, Keys.ENTER


def find_browser():
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Browser:
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.downloads = Path(self._folder.name, "downloads")
        self.downloads.mkdir()
        options = webdriver.ChromeOptions()
        options.binary_location = find_browser()
        for option in (*OPTIONS, f"--user-data-dir={self._folder.name}/profile"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        self._command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def close(self):
        self.driver.quit()
        self._folder.cleanup()

    def open(self, path, width=1280, height=900, scheme="light", touch=False):
        """Open a report, in a window of this size, and wait until its map is drawn."""
        self._command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self._command("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.prefer(scheme)
        self.driver.get(path.as_uri())
        self.settle()

    def settle(self):
        """Wait until the map is drawn."""
        self.until(SETTLED)

    def prefer(self, scheme):
        self._command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments):
        """What the script returns, as soon as that is true."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(script, *arguments)):
            assert time.monotonic() < end, f"never came true: {script}"
            time.sleep(0.05)
        return value

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def choose(self, selector, text):
        """Choose the entry of a list that has this text."""
        Select(self.find(selector)).select_by_visible_text(text)
        self.settle()

    def open_details(self, summary):
        """Unfold the part of the page with this heading."""
        parts = "document.querySelectorAll('details')"
        self.run(f"for (const part of {parts}) part.open ||= part.innerText.startsWith(arguments[0])", summary)

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def drag(self, places):
        """Press at the first of these places in the window, go through the others, release at the last."""
        (first, *others), mouse = np.rint(places).astype(int).tolist(), ActionBuilder(self.driver, duration=20)
        mouse.pointer_action.move_to_location(*first).pointer_down()
        for place in others:
            mouse.pointer_action.move_to_location(*place)
        mouse.pointer_action.pointer_up()
        mouse.perform()

    def click(self, place, shift=False):
        self.point_at(place)
        keys = ActionChains(self.driver)
        if shift:
            keys.key_down(Keys.SHIFT)
        keys.click()
        if shift:
            keys.key_up(Keys.SHIFT)
        keys.perform()
        self.settle()

    def point_at(self, place):
        mouse = ActionBuilder(self.driver, duration=20)
        mouse.pointer_action.move_to_location(*np.rint(place).astype(int).tolist())
        mouse.perform()

    def downloaded(self, name):
        """What the page has saved under this name, which is then forgotten."""
        end = time.monotonic() + PATIENCE
        while not (self.downloads / name).exists():
            assert time.monotonic() < end, f"{name} was not downloaded"
            time.sleep(0.05)
        content = (self.downloads / name).read_bytes()
        (self.downloads / name).unlink()
        return content

    def screenshot(self, path, whole=False):
        """A picture of the window, or of the whole page."""
        size = self._command("Page.getLayoutMetrics")["cssContentSize" if whole else "cssVisualViewport"]
        width, height = (size["width"], size["height"]) if whole else (size["clientWidth"], size["clientHeight"])
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture = self._command("Page.captureScreenshot", captureBeyondViewport=whole, clip=clip)
        path.write_bytes(base64.b64decode(picture["data"]))

    def plotted(self):
        """Coordinates of every row in the plot."""
        return np.array(self.run(PLOTTED))

    def pixels(self, Z):
        """Where points of the plane are in the window."""
        self.run("scatter.scrollIntoView({block: 'center', behavior: 'instant'})")
        return np.array(self.run(PIXELS, np.asarray(Z).tolist()))

    def overflow(self):
        """Elements that reach beyond the window, other than what lies in a box that scrolls."""
        return self.run(
            "return [...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll') && !e.closest('svg') &&"
            "e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)"
            ".map((e) => e.outerHTML.slice(0, 80))"
        )

    def _command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)
