"""bluetoothd and the bus it is spoken to by."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

from bluetooth import Management
from programs import Program, wait_until


class BluetoothDaemon:
    """BlueZ's daemon, on every adapter of the machine, ours included; without hci0 where that is hidden from it.

    `options`: lines of its main.conf; with any, it also logs what it does.
    """

    STATE = "/var/lib/bluetooth"
    PLACES = ("/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd")

    def __init__(self, logs, adapters, hides_ours=False, options=()):
        self.logs, self.adapters, self.hides_ours, self.options = logs, adapters, hides_ours, options

    def __enter__(self):
        os.makedirs("/run/dbus", exist_ok=True)
        subprocess.run(["dbus-uuidgen", "--ensure=/etc/machine-id"], check=True)
        if not os.path.exists("/run/dbus/system_bus_socket"):
            subprocess.run(["dbus-daemon", "--system", "--fork", "--nopidfile"], check=True)
        # This computer's own may be closed to who runs the machine.
        os.makedirs(self.STATE, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "tmpfs", self.STATE], check=True)
        place = next(path for path in self.PLACES if os.path.exists(path))
        command = [place, "-n"]
        if self.options:
            configuration = self.logs / "main.conf"
            configuration.write_text("\n".join(self.options) + "\n")
            command += ["-d", "-f", configuration]
        if self.hides_ours:
            # A machine without a compiler has the library already.
            library = os.environ.get("HIDE_ADAPTER")
            if library is None:
                library = self.logs / "hide_adapter.so"
                source = Path(__file__).with_name("hide_adapter.c")
                subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
            command = ["env", f"LD_PRELOAD={library}", *command]
            with contextlib.closing(Management()) as management:
                # What a daemon before it has left is how a program of ours would know the adapter for bluetoothd's.
                management.switch(0, 0)
                management.switch(0, 0, Management.SC)
        self.program = Program(command, self.logs / f"bluetoothd{time.monotonic_ns()}")
        # Each look starts a program.
        wait_until(lambda: self._is_ready() or time.sleep(0.2), lambda: f"bluetoothd does not serve its adapters:\n{self.program.output}")
        return self

    def _is_ready(self):
        asked = subprocess.run(
            ["dbus-send", "--system", "--print-reply", "--dest=org.bluez", "/",
             "org.freedesktop.DBus.ObjectManager.GetManagedObjects"],
            capture_output=True, text=True,
        )  # fmt: skip
        return all(f"/org/bluez/hci{index}" in asked.stdout for index in range(int(self.hides_ours), self.adapters))

    def __exit__(self, *failure):
        self.program.stop()
        subprocess.run(["umount", self.STATE], check=True)
        # It switches every adapter off as it leaves.
        with contextlib.closing(Management()) as management:
            for index in range(1, self.adapters):
                management.switch_on(index)
