"""Chromium without a window, by the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/) on its pipe."""

import base64
import contextlib
import ctypes
import fcntl
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading

from programs import LIMIT, PR_SET_PDEATHSIG, wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# The tests may run as root, where Chromium has no sandbox, and in a container with a small /dev/shm.
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def connect(command, answer):
    """In the process of Chromium: it reads from descriptor 3 and writes to descriptor 4, and ends with the tests."""
    # Either may have the number of the other.
    command, answer = (fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (command, answer))
    for descriptor, number in ((command, 3), (answer, 4)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Browser:
    """Chromium with one page. Messages that it receives without having asked for them are in `events`."""

    def __init__(self, *options):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            (command, self.output), (self.input, answer) = os.pipe(), os.pipe()
            words = [CHROMIUM, *OPTIONS, *options, "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
            self.log = stack.enter_context(open(f"{folder}/log", "w+"))
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, close_fds=False,
                preexec_fn=lambda: connect(command, answer),
            )  # fmt: skip
            os.close(command)
            os.close(answer)
            self.stack = stack.pop_all()
        self.last, self.answers, self.events, self.session = 0, {}, [], None
        self.arrived = queue.SimpleQueue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        [target] = [each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        # The worker has a session of its own.
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def read(self):
        with open(self.input, "rb", buffering=0) as input:
            pending = b""
            while octets := input.read(1 << 16):
                *messages, pending = (pending + octets).split(b"\0")
                for message in messages:
                    self.arrived.put(json.loads(message))
        self.arrived.put(None)

    def send(self, method, session, arguments):
        self.last += 1
        message = {"id": self.last, "method": method, "params": arguments}
        os.write(self.output, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        return self.last

    def call(self, method, **arguments):
        """The result of a command to the page."""
        number = self.send(method, self.session, arguments)
        while number not in self.answers:
            self.receive()
        answer = self.answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def receive(self):
        message = self.arrived.get(timeout=LIMIT)
        assert message is not None, f"Chromium has ended: {open(self.log.name).read()[-2000:]}"
        if "id" in message:
            self.answers[message["id"]] = message
            return
        self.events.append(message)
        if message["method"] == "Target.attachedToTarget":
            session = message["params"]["sessionId"]
            for method in ("Network.enable", "Runtime.enable", "Runtime.runIfWaitingForDebugger"):
                self.send(method, session, {})

    def evaluate(self, expression):
        """The value of an expression of JavaScript, or of its promise."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in result, f"{expression}: {result['exceptionDetails']}"
        return result["result"].get("value")

    def wait(self, expression):
        """Waits until an expression has a value that is true, and gives it."""
        return wait_until(lambda: self.evaluate(expression), lambda: f"{expression}: {self.evaluate('document.body.innerText')[:2000]}")

    def open(self, path):
        # A new document, also if it is open.
        for url in ("about:blank", path.as_uri()):
            self.call("Page.navigate", url=url)
            self.wait(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def choose(self, selector, path):
        """Chooses a file in a field."""
        node = self.call("DOM.querySelector", nodeId=self.call("DOM.getDocument")["root"]["nodeId"], selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def drag(self, path, x, y):
        """Drags a file over the page, as from a file manager; gives the function that drops it."""
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)
        return lambda: self.call("Input.dispatchDragEvent", type="drop", x=x, y=y, data=data)

    def press(self, key, modifiers=0, text=None):
        """Presses a key of the keyboard; modifiers: Alt 1, Control 2, Meta 4, Shift 8."""
        event = {"key": key, "modifiers": modifiers} | ({"text": text} if text else {})
        # The keys that Chromium handles itself have a number.
        if number := {"Enter": 13, "Tab": 9, " ": 32, "ArrowDown": 40, "ArrowUp": 38, "End": 35, "Home": 36, "PageDown": 34}.get(key):
            event["windowsVirtualKeyCode"] = number
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def click(self, selector):
        """Clicks into the middle of an element."""
        place = self.evaluate(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def screenshot(self, path, width=1280, height=800, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.evaluate("new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # The processes of Chromium have closed their ends of the pipe.
        self.reader.join(LIMIT)
        os.close(self.output)
        self.stack.close()
