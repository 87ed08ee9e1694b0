"""Our reference central, driven by lines, and the question that its user gets."""

import contextlib

from programs import Program, product, until


class OurCentral:
    """The reference central, driven by lines."""

    def __init__(self, program):
        self.program = program
        self.position = 0

    def do(self, line):
        self.program.process.stdin.write(f"{line}\n".encode())
        self.program.process.stdin.flush()

    @property
    def lines(self):
        """The whole lines: the last one may be a part that is read while the program writes it."""
        return self.program.output.split("\n")[:-1]

    def count(self, prefix):
        return sum(line.startswith(prefix) for line in self.lines)

    async def wait_for(self, prefix):
        """The next line that begins so, after those already waited for."""

        def find():
            self.program.check_alive()
            lines = self.lines
            for index in range(self.position, len(lines)):
                if lines[index].startswith(prefix):
                    self.position = index + 1
                    return lines[index]
            return None

        return await until(find, lambda: f"no {prefix!r}:\n{self.program.output[-2000:]}")

    async def connect(self, name):
        await self.wait_for("READY")
        self.do(f"connect {name}")
        await self.wait_for("connected")
        self.do("discover")
        await self.wait_for("discovered")

    async def read(self, uuid):
        """The rest of the line after the UUID: the value, or the error."""
        self.do(f"read {uuid}")
        line = await self.wait_for(f"value {uuid}")
        return line.removeprefix(f"value {uuid} ")


@contextlib.contextmanager
def our_central(radio, folder, *options):
    """The reference central at a radio; its bonds stay in `folder`."""
    command = ["env", f"BLE_BONDS={folder / 'central.json'}", *product("reference-central")]
    command += ["--transport", radio.transport, *options]
    with Program(command, folder / "reference-central.log") as program:
        yield OurCentral(program)
        program.check_alive()


def model(ours, theirs, sc):
    """The question that our user gets, None for Just Works (Vol 3, Part H, Table 2.8; we initiate)."""
    if "none" in (ours, theirs):
        return None
    both_yes_no = all(io in ("display-yes-no", "keyboard-display") for io in (ours, theirs))
    if sc and both_yes_no:
        return "comparison"
    displays = ("display", "display-yes-no")
    if ours in displays and theirs in displays:
        return None
    if ours in displays:
        return "display"
    if theirs in displays or ours == "keyboard":
        return "passkey"
    # Where both could, the initiator shows the passkey.
    return "display"
