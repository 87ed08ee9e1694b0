"""Programs that are spoken to."""

import time

from programs import Program


class Dialogue(Program):
    """A program that is told by lines."""

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, line, answer):
        before = len(self.output)
        self.say(line)
        return self.wait_after(answer, before)

    def wait_after(self, text, place):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = self.output[place:]
            if text in found:
                return found
            self.check_alive()
            time.sleep(0.05)
        raise AssertionError(f"no {text!r} in:\n{self.output[-3000:]}")
