"""Our reference central, driven by lines, and the question that its user gets."""

import asyncio
import contextlib
import time

from programs import Program, product

STEP = 15.0  # seconds for one answer


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
        return self.program.output.splitlines()

    def count(self, prefix):
        return sum(line.startswith(prefix) for line in self.lines)

    async def wait_for(self, prefix, seconds=STEP):
        """The next line that begins so, after those already waited for."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.program.check_alive()
            lines = self.lines
            for index in range(self.position, len(lines)):
                if lines[index].startswith(prefix):
                    self.position = index + 1
                    return lines[index]
            await asyncio.sleep(0.02)
        raise AssertionError(f"no {prefix!r} in {seconds:g} s:\n{self.program.output[-2000:]}")

    async def connect(self, name):
        await self.wait_for("READY")
        self.do(f"connect {name}")
        await self.wait_for("connected")
        self.do("discover")
        await self.wait_for("discovered")

    async def read(self, uuid, seconds=STEP):
        """The rest of the line after the UUID: the value, or the error."""
        self.do(f"read {uuid}")
        line = await self.wait_for(f"value {uuid}", seconds)
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
