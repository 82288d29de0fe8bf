"""Headless Chromium as a person at the keyboard, over its DevTools protocol on two pipes: no package is needed."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 60  # seconds until a page that does not come is an error; nothing is measured


class Browser:
    """One tab. Its profile and its downloads lie in a folder."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM
        self.downloads = folder / "downloads"
        (read, self_write), (self_read, write) = os.pipe(), os.pipe()
        self.process = subprocess.Popen(
            [
                "bash",  # the browser reads from its descriptor 3 and writes to 4
                "-c",
                f'exec "$@" 3<&{read} 4>&{write}',
                "bash",
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
                "--window-size=1100,800",
                f"--user-data-dir={folder / 'profile'}",
                "about:blank",
            ],
            pass_fds=(read, write),
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self.writer, self.reader = os.fdopen(self_write, "wb"), os.fdopen(self_read, "rb")
        self.n_sent, self.session = 0, ""

    def __enter__(self) -> Self:
        (page,) = (one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        self.ask("Page.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self.writer.close()
        self.reader.close()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command; events are passed over."""
        self.n_sent += 1
        message = {"id": self.n_sent, "method": method, "params": parameters}
        if self.session and not method.startswith("Browser."):
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        self.writer.flush()
        while (reply := self.message()).get("id") != self.n_sent:
            pass
        assert "error" not in reply, reply
        return dict(reply["result"])

    def message(self) -> dict[str, Any]:
        """The next message, which ends with a zero byte."""
        received = bytearray()
        while (byte := self.reader.read(1)) != b"\0":
            assert byte, "the browser has ended"
            received += byte
        return dict(json.loads(received))

    def open(self, page: Path) -> None:
        """Load a file and wait for it."""
        self.ask("Page.navigate", url=page.as_uri())
        self.wait(lambda: self.value("document.readyState") == "complete")

    def reload(self) -> None:
        """Load the page again and wait for it."""
        time.sleep(1)  # on a busy machine, what was just stored is not yet where the next page reads it
        self.value("window.isOld = true")
        self.ask("Page.reload")
        self.wait(lambda: self.value("document.readyState") == "complete" and not self.value("window.isOld === true"))

    def value(self, expression: str) -> Any:
        """What a JavaScript expression is on the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """One key, down and up."""
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def downloaded(self) -> Path:
        """The one file in the downloads, as soon as it is whole."""
        self.wait(lambda: [*self.downloads.glob("*.json")])
        (file,) = self.downloads.glob("*.json")
        return file

    def wait(self, is_there: Callable[[], object]) -> None:
        """Until something is there."""
        until = time.monotonic() + PATIENCE
        while not is_there():
            assert time.monotonic() < until, "it does not come"
            time.sleep(0.02)
