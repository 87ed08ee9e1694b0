"""What the checks of client programs share: the compiler, its language modes, and where the modules of the built package are."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SWIFT = os.environ.get("SWIFT", "swift")
MODES = {
    "Swift 5": ["-swift-version", "5"],
    "Swift 6": ["-swift-version", "6"],
    "Swift 6, MemberImportVisibility": ["-swift-version", "6", "-enable-upcoming-feature", "MemberImportVisibility"],
}


def compiler():
    """The path of the compiler that belongs to `SWIFT`."""
    info = subprocess.run([SWIFT, "-print-target-info"], check=True, capture_output=True, text=True).stdout
    resources = pathlib.Path(json.loads(info)["paths"]["runtimeResourcePath"])
    return str(resources.parent.parent / "bin" / "swiftc")


def modules(products):
    """The folder of the modules of a build: Swift Build has them beside the programs."""
    folder = pathlib.Path(products) / "Modules"
    return folder if folder.exists() else folder.parent


def search_paths():
    """The options that find the modules of the package, which must be built, and the C libraries below them."""
    products = subprocess.run([SWIFT, "build", "--show-bin-path"], check=True, capture_output=True, text=True, cwd=ROOT)
    options = ["-I", str(modules(products.stdout.strip()))]
    for library in sorted((ROOT / "Sources").glob("C*/module.modulemap")):
        options += ["-I", str(library.parent)]
    return options
