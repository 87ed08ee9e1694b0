"""The units of systemd give their services what they need, and nothing else."""

import re
import shutil
import subprocess

import pytest
from programs import LIMIT, ROOT

# The exposure that is accepted, in tenths, of 100 (systemd-analyze(1)).
EXPOSURE = 20


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed (Debian: systemd)")
@pytest.mark.parametrize("unit", ["ble-gateway", "ble-proxy", "ble@"])
def test_a_unit_is_confined(unit, tmp_path):
    text = (ROOT / f"Packaging/{unit}.service").read_text().replace("@PREFIX@", "/usr")
    file = tmp_path / f"{unit.replace('@', '@name')}.service"
    file.write_text(text)
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", f"./{file.name}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0 and "Overall exposure level" in done.stdout, done.stdout[-500:] + done.stderr


@pytest.mark.parametrize(
    "unit, secrets",
    [("ble-gateway", ["password"]), ("ble-proxy", ["proxy.key", "passkeys"]), ("ble@", ["description.json"])],
)
def test_the_secrets_of_a_unit_are_credentials(unit, secrets):
    """The user of a service cannot read files of root, and everyone can read the arguments of a process."""
    lines = (ROOT / f"Packaging/{unit}.service").read_text().splitlines()
    loaded = [line.partition("=")[2].partition(":")[0] for line in lines if line.startswith("LoadCredential=")]
    assert loaded == secrets
    [command] = [line for line in lines if line.startswith("ExecStart=")]
    # The gateway's configuration names its credential.
    assert unit == "ble-gateway" or all(f" {secret}" in command for secret in secrets)
    assert not re.search(r"\d{6}", command)
