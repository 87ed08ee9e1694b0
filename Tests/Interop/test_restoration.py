"""A program with restoration identifiers that is killed and started again."""

import contextlib
import signal

from programs import Program, product, wait_until

SERVICE, CHARACTERISTIC = "181A", "2A6E"


@contextlib.contextmanager
def managers(radio, folder, name, run):
    """Managers whose names are their restoration identifiers; bonds, and the state beside them, stay in `folder`."""
    bonds = folder / f"{name}.json"
    command = ["env", f"BLE_BONDS={bonds}", *product("managers"), "--transport", radio.transport, "--restore"]
    with Program(command, folder / f"{name}-{run}.log") as program:
        yield program


def tell(program, line):
    program.process.stdin.write(f"{line}\n".encode())
    program.process.stdin.flush()


def kill(program):
    program.process.send_signal(signal.SIGKILL)
    program.process.wait()


def wait_for_state(folder, name, text):
    """Until the file of the state has `text`, which is saved a moment after a change."""

    def saved():
        return [path for path in folder.glob(f"{name}.*-*.json") if text in path.read_text().lower()]

    found = wait_until(saved, lambda: f"no state with {text!r}: {list(folder.iterdir())}")
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in found)


def test_a_killed_peripheral_publishes_and_advertises_again(radio, tmp_path):
    with managers(radio, tmp_path, "peripheral", 1) as first:
        tell(first, f"p1 publish {SERVICE} {CHARACTERISTIC} declared")
        first.wait_for(f"p1 published {SERVICE}")
        tell(first, f"p1 advertise Clock {SERVICE}")
        first.wait_for("p1 advertises")
        wait_for_state(tmp_path, "peripheral", "clock")
        kill(first)
    with managers(radio, tmp_path, "peripheral", 2) as second:
        tell(second, "p1 state")
        assert second.wait_for("p1 restored") == f"p1 restored {SERVICE} Clock"
        assert second.wait_for("p1 poweredOn, ") == "p1 poweredOn, advertises"
        calls = [line for line in second.output.splitlines() if line.startswith("p1 ")]
        assert calls[0].startswith("p1 restored"), "it is the first call"
        with managers(radio, tmp_path, "other", 1) as other:
            tell(other, f"c1 scan {SERVICE}")
            other.wait_for("c1 discovered Clock")
            tell(other, "c1 connect Clock")
            other.wait_for("c1 connected Clock")
            tell(other, "c1 discover Clock")
            assert other.wait_for("c1 found on Clock") == f"c1 found on Clock: {SERVICE}"
            tell(other, f"c1 read Clock {CHARACTERISTIC}")
            assert other.wait_for("c1 value").endswith(" restored")
        assert "p1 published" not in second.output and "p1 advertises" not in second.output


def test_a_killed_central_connects_again(radio, tmp_path):
    with managers(radio, tmp_path, "peripheral", 1) as peripheral:
        tell(peripheral, f"p1 publish {SERVICE} {CHARACTERISTIC} hello")
        tell(peripheral, f"p1 advertise Clock {SERVICE}")
        peripheral.wait_for("p1 advertises")
        with managers(radio, tmp_path, "central", 1) as first:
            tell(first, f"c1 scan {SERVICE}")
            first.wait_for("c1 discovered Clock")
            tell(first, "c1 connect Clock")
            first.wait_for("c1 connected Clock")
            wait_for_state(tmp_path, "central", '"address"')
            kill(first)
        with managers(radio, tmp_path, "central", 2) as second:
            tell(second, "c1 state Clock")
            assert second.wait_for("c1 restored") == f"c1 restored Clock connecting, scan {SERVICE}"
            second.wait_for("c1 connected Clock")
            tell(second, "c1 discover Clock")
            second.wait_for("c1 found on Clock")
            tell(second, f"c1 read Clock {CHARACTERISTIC}")
            assert second.wait_for("c1 value").endswith(" hello")
            # What the program takes back is not restored a second time.
            tell(second, "c1 stop")
            tell(second, "c1 disconnect Clock")
            second.wait_for("c1 disconnected Clock")
        with managers(radio, tmp_path, "central", 3) as third:
            tell(third, "c1 state Clock")
            third.wait_for("c1 has no Clock")
            assert "c1 restored" not in third.output
