"""Programs that are spoken to."""

from programs import Program, wait_until

# The answer of bluetoothctl to `disconnect`: of BlueZ 5.66, and of 5.82.
DISCONNECTED = ("Successful disconnected", "Disconnection successful")


class Dialogue(Program):
    """A program that is told by lines."""

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, line, *answers):
        """Waits for one of the answers."""
        before = len(self.output)
        self.say(line)
        return self.wait_after(answers, before)

    def wait_after(self, texts, place):
        texts = (texts,) if isinstance(texts, str) else texts

        def find():
            found = self.output[place:]
            if any(text in found for text in texts):
                return found
            self.check_alive()
            return None

        return wait_until(find, lambda: f"no {' or '.join(map(repr, texts))} in:\n{self.output[-3000:]}")
