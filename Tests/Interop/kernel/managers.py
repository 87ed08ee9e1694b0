"""The program of Tests/Interop/Managers, which is told by lines."""

import os

from dialogue import Dialogue
from pairing import bond_file
from programs import product


def managers(logs, name, transport, keeps_bonds=False):
    """Its bonds are kept from an earlier run of that name, or there are none."""
    bonds = bond_file(name)
    if not keeps_bonds:
        bonds.unlink(missing_ok=True)
    os.environ["BLE_BONDS"] = str(bonds)
    log = logs / f"{name}.txt"
    return Dialogue([*product("managers"), "--transport", transport, "--snoop", log.with_suffix(".btsnoop")], log)
