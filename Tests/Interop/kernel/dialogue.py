"""Programs that are spoken to."""

from programs import Program, wait_until


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
        def find():
            found = self.output[place:]
            if text in found:
                return found
            self.check_alive()
            return None

        return wait_until(find, lambda: f"no {text!r} in:\n{self.output[-3000:]}")
