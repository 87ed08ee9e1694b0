"""The other side of a pairing: the kernel's security manager on a central's adapter, with us as its user."""

import contextlib
import json
import os
import struct
import time
from pathlib import Path

from bluetooth import Management, PUBLIC, address_octets, readable
from programs import HERE, LIMIT, Program, product

DISPLAY_ONLY, DISPLAY_YES_NO, KEYBOARD_ONLY, NOTHING, KEYBOARD_DISPLAY = range(5)
PAIR, UNPAIR = 0x0019, 0x001B
CONFIRM, REFUSE, ENTER = 0x001C, 0x001D, 0x001E
NEW_KEY, NEW_CONFIRMATION, NEW_PASSKEY_REQUEST, NEW_PASSKEY = 0x000A, 0x000F, 0x0010, 0x0017


def bond_file(name):
    """Not among the logs: their folder may belong to the user who started the machine, and bonds are root's here."""
    folder = Path("/run/bonds")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{name}.json"


class User(Management):
    """Pairs from one adapter, and answers what the kernel asks with a function from question and number to answer."""

    SSP, BONDABLE, LOAD_KEYS, PRIVACY = 0x000B, 0x0009, 0x0013, 0x002F

    def __init__(self, adapter, secure_connections=True):
        super().__init__()
        self.adapter = adapter
        self.switch(adapter, 0)
        for opcode, on in ((self.LE, 1), (self.SSP, 1), (self.SC, secure_connections), (self.BONDABLE, 1)):
            self.switch(adapter, on, opcode)
        self.forget_all()
        self.switch_on(adapter)
        self.key_types = []

    def restart(self):
        """The kernel answers Set Powered off before the adapter is closed, and can take the end of that for the end of a Set Powered
        on that follows: it answers success, and the adapter stays off. So the settings are read, and the command is repeated."""
        self.switch(self.adapter, 0)
        self.switch_on(self.adapter)

    def hide(self, is_hidden):
        """Whether the adapter uses resolvable private addresses (Set Privacy)."""
        self.switch(self.adapter, 0)
        key = bytes(range(1, 17)) if is_hidden else bytes(16)
        assert self.request(self.PRIVACY, self.adapter, bytes([is_hidden]) + key)[0] == 0
        self.switch_on(self.adapter)

    def forget_all(self):
        assert self.request(self.LOAD_KEYS, self.adapter, b"\0\0")[0] == 0

    def pair(self, peer, capability, answer):
        """The status of Pair Device: 0 is success, 5 failed authentication."""
        self._say(PAIR, address_octets(peer) + bytes([PUBLIC, capability]))
        return self.serve(answer, lambda event, body: self._answer_to_pair(event, body))

    def serve(self, answer, is_over):
        """Answers what the kernel asks until `is_over` of an event's code and parameters is not None."""
        self.key_types = []
        deadline = time.monotonic() + LIMIT
        while readable(self.number, deadline - time.monotonic()):
            message = os.read(self.number, 4096)
            event, index, _ = struct.unpack_from("<HHH", message)
            body = message[6:]
            if index != self.adapter:
                continue
            if event == NEW_CONFIRMATION:
                # A number, or, with the hint, only consent: since Linux 6.12 for every Just Works.
                hint, number = struct.unpack_from("<BI", body, 7)
                agrees = hint == 1 or answer("compare", number)
                self._say(CONFIRM if agrees else REFUSE, body[:7])
            elif event == NEW_PASSKEY_REQUEST:
                self._say(ENTER, body[:7] + struct.pack("<I", answer("enter", None)))
            elif event == NEW_PASSKEY:
                answer("show", struct.unpack_from("<I", body, 7)[0])
            elif event == NEW_KEY:
                self.key_types.append(body[8])
            end = is_over(event, body)
            if end is not None:
                return end
        raise TimeoutError("the pairing does not end")

    def _answer_to_pair(self, event, body):
        if event in (1, 2) and struct.unpack_from("<H", body)[0] == PAIR:
            # The kernel has reported the keys before it.
            return body[2]
        return None

    def unpair(self, peer):
        return self.request(UNPAIR, self.adapter, address_octets(peer) + bytes([PUBLIC, 1]))[0]

    def _say(self, opcode, body):
        os.write(self.number, struct.pack("<HHH", opcode, self.adapter, len(body)) + body)


@contextlib.contextmanager
def vault(logs, name, transport="linux:hci0", file="vault.json", knows=False, **pairing):
    """reference-peripheral with vault.json, pairing as told; `knows` the bonds that one of that name before it made."""
    description = json.loads((HERE / file).read_text())
    description["pairing"] = pairing
    path = logs / f"{name}.json"
    path.write_text(json.dumps(description))
    bonds = bond_file(name)
    os.environ["BLE_BONDS"] = str(bonds)
    if not knows:
        bonds.unlink(missing_ok=True)
    command = [*product("reference-peripheral"), "--desc", path, "--transport", transport]
    log = logs / f"{name}.txt"
    with Program([*command, "--snoop", log.with_suffix(".btsnoop")], log) as program:
        program.wait_for("READY")
        yield program
        program.check_alive()
