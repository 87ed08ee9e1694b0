"""The public API of each library product, from the symbol graphs that the Swift compiler writes.

Used by scripts/check-api, scripts/check-documentation and scripts/documentation. The package must be built (`swift build`).
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from client_compiler import modules

ROOT = pathlib.Path(__file__).resolve().parent.parent
GRAPHS = ROOT / ".cache" / "symbol-graphs"
SNAPSHOTS = ROOT / "Docs" / "API"
SWIFT = os.environ.get("SWIFT", "swift")


def run(*command):
    """The standard output of a command; the script ends with its message where it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def toolchain():
    """The version of the compiler, such as `6.3`: other versions write some declarations in another form."""
    return re.search(r"Swift version (\d+\.\d+)", run(SWIFT, "--version")).group(1)


def products():
    """The names of the library products, each after those that it depends on, and what each target of the package needs.

    A product has a target of its name.
    """
    package = json.loads(run(SWIFT, "package", "describe", "--type", "json"))
    libraries = {product["name"] for product in package["products"] if "library" in product["type"]}
    needs = {target["name"]: target.get("target_dependencies", []) for target in package["targets"]}
    ordered = []

    def visit(target):
        for needed in sorted(needs[target]):
            visit(needed)
        if target in libraries and target not in ordered:
            ordered.append(target)

    for library in sorted(libraries):
        visit(library)
    return ordered, needs


def dependencies(target, needs):
    """The targets below `target`, at any depth."""
    found = set(needs[target])
    for needed in needs[target]:
        found |= dependencies(needed, needs)
    return found


def reexports(target, targets, products):
    """The targets of the package whose symbols a client gets by importing `target`: all of them, or single types of a target that is no
    product. A type of another product has its page there.
    """
    found = set()
    for source in (ROOT / "Sources" / target).rglob("*.swift"):
        exports = re.findall(r"^@_exported (?:public )?import (?:\w+ )?(\w+)(\.\w+)?$", source.read_text(), re.MULTILINE)
        for name, part in exports:
            if part and name not in products:
                found.add(name)
            elif not part and name in targets and name not in found:
                found |= {name} | reexports(name, targets, products)
    return found


def extract():
    """Writes the symbol graphs of the library products to `GRAPHS`, one folder for each; returns the products in order."""
    names, needs = products()
    built = modules(run(SWIFT, "build", "--show-bin-path").strip())
    triple = json.loads(run(SWIFT, "-print-target-info"))["target"]["triple"]
    shutil.rmtree(GRAPHS, ignore_errors=True)
    for name in names:
        folder = GRAPHS / name
        folder.mkdir(parents=True)
        command = [SWIFT, "symbolgraph-extract", "-module-name", name, "-target", triple, "-output-dir", str(folder)]
        command += ["-minimum-access-level", "public", "-skip-synthesized-members", "-I", str(built)]
        for library in sorted((ROOT / "Sources").glob("C*/module.modulemap")):
            command += ["-I", str(library.parent)]
        # The graph of a module that only re-exports others is empty without this.
        exported = reexports(name, needs, names)
        if exported:
            command.append(f"-experimental-allowed-reexported-modules={','.join(sorted(exported))}")
        run(*command)
    return names


def symbols(product):
    """The public symbols of a product, those that it adds to types of other modules included."""
    found = []
    for graph in sorted((GRAPHS / product).glob("*.symbols.json")):
        content = json.loads(graph.read_text())
        found += content["symbols"]
    return [symbol for symbol in found if "::SYNTHESIZED::" not in symbol["identifier"]["precise"]]


def name_of(symbol):
    return ".".join(symbol["pathComponents"])


def snapshot_toolchain():
    """The version of the compiler that the snapshots belong to."""
    return re.search(r"Swift (\d+\.\d+)", (SNAPSHOTS / "README.md").read_text()).group(1)


def toolchain_matches():
    return toolchain() == snapshot_toolchain()
