"""Programs whose output nobody reads any more, as in `heart-rate | head -1`, end in good order and without a word."""

import asyncio
import contextlib
import re
import socket
import subprocess

import pytest
from central import Central
from programs import HERE, LIMIT, product
from radios import bumble, ours
from test_ble_tool import serving

# What a shell shows for a program that SIGPIPE ended: 128 + 13.
CLOSED = 141

# A terminal's shell leaves SIGPIPE as it is; many supervisors, and Python, start programs with it ignored.
signals = pytest.mark.parametrize("restored", [True, False], ids=["default", "ignored"])


@contextlib.contextmanager
def reading(command, folder, restored, stderr=None, stdin=subprocess.DEVNULL):
    """The program, its standard output in a pipe and, unless told otherwise, its standard error in a file."""
    with open(folder / "stderr", "wb") as log:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=log if stderr is None else stderr,
            cwd=folder,
            restore_signals=restored,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def check_end(process, folder):
    assert process.wait(LIMIT) == CLOSED, (folder / "stderr").read_text(errors="replace")[-2000:]
    assert (folder / "stderr").read_text() == ""


@signals
def test_demonstration_is_read_for_one_line(tmp_path, restored):
    with reading(product("heart-rate"), tmp_path, restored) as process:
        assert process.stdout.readline()
        process.stdout.close()
        check_end(process, tmp_path)


@signals
async def test_peripheral_closes_its_links(tmp_path, restored):
    with bumble("bumble", tmp_path) as radio:
        command = ["env", f"BLE_BONDS={tmp_path / 'bonds.json'}", *product("reference-peripheral")]
        command += ["--transport", radio.transport, "--desc", HERE / "weather.json"]
        with reading(command, tmp_path, restored) as process:
            assert process.stdout.readline().startswith(b"READY")
            process.stdout.close()
            async with Central(radio.transport) as central:
                # It reports the connection, finds that nobody reads that, and ends the link.
                link = await central.connect("Weather Station 7")
                assert await asyncio.wait_for(link.ended, LIMIT) in (0x13, 0x15, 0x16)
            await asyncio.to_thread(check_end, process, tmp_path)


@signals
def test_radio_ends_when_nobody_reads_its_log(tmp_path, restored):
    command = [*product("virtual-radio"), "--tcp", "0"]
    with reading(command, tmp_path, restored, stderr=subprocess.STDOUT) as process:
        while not (ready := re.search(rb"^READY .*:(\d+)$", process.stdout.readline())):
            pass
        process.stdout.close()
        # It reports the host that connects.
        with socket.create_connection(("127.0.0.1", int(ready[1]))):
            check_end(process, tmp_path)


@signals
@pytest.mark.parametrize("form", [["--json"], []], ids=["json", "lines"])
def test_scan_ends_although_it_finds_nothing_more(form, tmp_path, restored):
    """`ble scan | head -1` has its line; each device is reported once, so that no other one follows."""
    with ours("radio", tmp_path) as radio, serving(radio, tmp_path):
        command = [*product("ble"), "scan", "--duration", LIMIT, *form, "--transport", radio.transport]
        with reading(command, tmp_path, restored) as process:
            assert b"Thermometer" in process.stdout.readline()
            process.stdout.close()
            check_end(process, tmp_path)


@signals
def test_log_of_a_silent_input_ends(tmp_path, restored):
    with reading([*product("ble"), "log", "-"], tmp_path, restored, stdin=subprocess.PIPE) as process:
        process.stdout.close()
        check_end(process, tmp_path)
