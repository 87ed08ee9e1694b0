"""A user without rights is told which ones, and with them it works."""

import os
import shutil
import subprocess
from pathlib import Path

from conftest import DESCRIPTION, PATTERN, Peripheral, long_uuid
from programs import LIMIT, product

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


DESCRIBED = Path("/run/weather.json")


def copy():
    """The program where file capabilities are kept, and its description where everyone may read."""
    path = Path("/run/reference-peripheral")
    for source, place, mode in ((product("reference-peripheral")[0], path, 0o755), (DESCRIPTION, DESCRIBED, 0o644)):
        shutil.copy(source, place)
        os.chmod(place, mode)
    return path


def test_without_capabilities(controllers):
    path = copy()
    done = subprocess.run(
        [*NOBODY, path, "--desc", DESCRIBED, "--transport", "linux:hci0"],
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    print(done.stderr)
    assert done.returncode == 77
    assert len(done.stderr.splitlines()) == 1
    assert f"sudo setcap 'cap_net_raw,cap_net_admin+eip' {path}" in done.stderr


def test_with_capabilities(controllers, connect, logs):
    path = copy()
    subprocess.run(["setcap", "cap_net_raw,cap_net_admin+eip", path], check=True)
    program = [*NOBODY, path]
    with Peripheral("linux:hci0", logs / "setcap.txt", executable=program, description=DESCRIBED) as program:
        program.wait_for("READY")
        client = connect()
        assert client.read_long(client.characteristics()[long_uuid("0002")]) == PATTERN


def test_an_adapter_that_is_not_there(controllers):
    done = subprocess.run(
        [*product("reference-peripheral"), "--desc", DESCRIPTION, "--transport", "linux:hci9"],
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 69 and "there is no adapter hci9" in done.stderr
