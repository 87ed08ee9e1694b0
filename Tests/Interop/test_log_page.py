"""The page of Web/Log in Chromium: it shows the text of `ble log`, for traces of each kind and format."""

import asyncio
import json
import random
import re
import socket
import struct
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from bumble.snoop import BtSnooper
from programs import LIMIT, ROOT, product, wait_until
from radios import have_tshark, ours
from secured_peripheral import NAME, OPEN, SECRET, SecuredPeripheral
from test_ble_tool import run, serving
from test_trace_formats import FORMATS, packet_logger, records

pytestmark = pytest.mark.browser

PAGE = ROOT / ".cache/log-page/log.html"
LAYERS = ["hci", "l2cap", "att", "smp"]
SHIFT = 8

# Scrolls through the list, and gives number, line and style of each row.
ROWS = """(async () => {
  const list = document.querySelector("#packets"), found = new Map();
  for (let top = 0; ; top += list.clientHeight) {
    list.scrollTop = top;
    const rows = () => [...list.querySelectorAll("[role=row]")];
    do await new Promise(requestAnimationFrame); while (rows().some((row) => !row.firstChild));
    for (const row of rows()) {
      found.set(Number(row.ariaRowIndex), [
        Number(row.querySelector("a").textContent), row.querySelector(".line").textContent, row.className]);
    }
    if (top + list.clientHeight >= list.scrollHeight) break;
  }
  return [...found].sort(([one], [other]) => one - other).map(([, row]) => row);
})()"""
FINDINGS = """[...document.querySelectorAll("#explanation summary, #findings h3, #findings p, #findings li li")].map((e) => e.textContent)"""
ARROWS = """[...document.querySelectorAll("#ladder svg title")].map((title) => title.textContent)"""


class Page(Browser):
    """The page, in a window of a usual size."""

    def settle(self):
        """Waits until the page has done everything that it was asked for."""
        self.wait("document.querySelector('main').ariaBusy === 'false'")

    def show(self, file):
        self.evaluate("document.querySelector('main').ariaBusy = null")
        self.choose("#chooser", file)
        self.settle()

    def change(self, script):
        self.evaluate(f"(() => {{ {script} }})()")
        self.settle()

    def filter(self, all=False, layers=(), link=""):
        self.change(
            f"const {{ all, link, layer }} = document.querySelector('#filters').elements;"
            f"if (all.checked !== {json.dumps(all)}) all.click();"
            f"const wanted = {json.dumps([1 << LAYERS.index(layer) for layer in layers] or [1, 2, 4, 8])};"
            # Those that are chosen first: without any all would be.
            "for (const on of [true, false]) layer.forEach((one) => {"
            "  if (wanted.includes(Number(one.value)) === on && one.checked !== on) one.click(); });"
            f"link.value = {json.dumps(link)}; link.dispatchEvent(new Event('input', {{ bubbles: true }}));"
        )

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def lines(self):
        return [line for _, line, _ in self.evaluate(ROWS)]

    def fault(self):
        return self.evaluate("(() => { const fault = document.querySelector('#fault'); return fault.hidden ? '' : fault.textContent })()")

    def failures(self):
        return [event for event in self.events if event["method"] == "Runtime.exceptionThrown"]


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        pytest.skip("Chromium is not installed")
    assert PAGE.exists(), f"{PAGE} is missing: make log-page builds it"
    with Page("--window-size=1280,900") as page:
        yield page


@pytest.fixture
def page(browser):
    browser.events.clear()
    browser.open(PAGE)
    yield browser
    assert browser.failures() == []


@cache
def log(file, *words):
    """The lines of `ble log`, whether or not the file is damaged."""
    command = [*product("ble"), "log", file, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 65), done.stderr
    return done.stdout.splitlines()


# The traces


async def sessions(folder):
    """Traces of both hosts: pairings that succeed and fail, a device that ends the link, or answers late or wrongly."""
    with ours("radio", folder) as radio:
        for fault, accepts, words in (
            ("gone", True, ("read", NAME, OPEN)),
            ("stray", True, ("read", NAME, OPEN)),
            (None, False, ("pair", NAME)),
            (None, True, ("read", NAME, SECRET)),
        ):
            name = f"{words[0]}-{fault or ('paired' if accepts else 'rejected')}"
            async with SecuredPeripheral(radio.transport, fault=fault, accepts=accepts) as peripheral:
                with open(folder / f"{name}-bumble.btsnoop", "wb") as file:
                    peripheral.device.host.snooper = BtSnooper(file)
                    command = [*product("ble"), *words, "--transport", radio.transport, "--snoop", folder / f"{name}.btsnoop"]
                    await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
                    peripheral.device.host.snooper = None


def mutated(trace, seed):
    """The trace with other octets in some packets."""
    generator = random.Random(seed)
    octets = bytearray(trace.read_bytes())
    place = 16
    while place < len(octets):
        [length] = struct.unpack_from(">I", octets, place)
        for _ in range(generator.choice((0, 0, 1, 3))):
            octets[place + 24 + generator.randrange(length)] = generator.randrange(256)
        place += 24 + length
    return bytes(octets)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The traces by name."""
    folder = tmp_path_factory.mktemp("traces")
    run("demo", cwd=folder)
    with ours("inspected", folder) as radio, serving(radio, folder):
        run("inspect", "Thermometer", "--transport", radio.transport, "--snoop", folder / "inspect.btsnoop")
    asyncio.run(asyncio.wait_for(sessions(folder), LIMIT))
    for trace in (folder / "demo.btsnoop", folder / "inspect.btsnoop"):
        for form, convert in FORMATS.items():
            (folder / f"{trace.stem}-{form}").write_bytes(b"".join(convert(trace)))
        for seed in range(4):
            (folder / f"{trace.stem}-mutated-{seed}.btsnoop").write_bytes(mutated(trace, seed))
        for form in ("pcap", "nsecpcap", "pcapng") if have_tshark() else ():
            subprocess.run(["editcap", "-F", form, trace, folder / f"{trace.stem}.{form}"], check=True, timeout=LIMIT)
    return sorted(path for path in folder.iterdir() if path.suffix not in (".log", ".json") and path.is_file())


def links(trace):
    """What --link may name: the handles and addresses of a trace."""
    entries = [json.loads(line) for line in log(trace, "--all", "--json")]
    return {f"0x{entry['link']:04X}" for entry in entries if "link" in entry}


# What is shown


def test_each_trace_has_the_lines_of_ble_log(page, corpus):
    assert len(corpus) > 20
    for trace in corpus:
        page.show(trace)
        assert page.fault() == "", trace.name
        rows = page.evaluate(ROWS)
        assert [line for _, line, _ in rows] == log(trace), trace.name
        entries = [json.loads(line) for line in log(trace, "--json")]
        assert [style.split()[0].upper() for _, _, style in rows] == [entry["layer"] for entry in entries], trace.name
        assert ["failure" in style.split() for _, _, style in rows] == [entry["failure"] for entry in entries], trace.name
        page.filter(all=True)
        rows = page.evaluate(ROWS)
        assert [line for _, line, _ in rows] == log(trace, "--all"), trace.name
        numbers = [number for number, _, _ in rows]
        assert numbers == sorted(numbers) and numbers[0] >= 1


def test_the_filters_are_those_of_ble_log(page, corpus):
    for trace in corpus:
        page.show(trace)
        for layer in LAYERS:
            page.filter(layers=[layer])
            assert page.lines() == log(trace, "--layer", layer), (trace.name, layer)
        page.filter(all=True, layers=["att", "smp"])
        assert page.lines() == log(trace, "--all", "--layer", "att", "--layer", "smp"), trace.name
        offered = page.evaluate("[...document.querySelector('[name=link]').options].map((option) => option.value)")
        assert offered[0] == "" and links(trace) <= set(offered), trace.name
        for link in offered[1:]:
            page.filter(link=link)
            assert page.lines() == log(trace, "--link", link), (trace.name, link)


def check_explanation(page, trace, *words):
    expected = [line.strip() for line in log(trace, "--explain", *words) if line.strip()]
    verdict, *found, scope = page.evaluate(FINDINGS)
    assert [*found, f"{verdict} {scope}"] == expected, trace.name
    findings = [json.loads(line) for line in log(trace, "--explain", "--json", *words)]
    assert page.evaluate("document.querySelectorAll('#findings li.problem').length") == sum(each["problem"] for each in findings)
    # Each packet that a finding names has a link, and a mark in the list.
    linked = page.evaluate("[...document.querySelectorAll('#findings a')].map((link) => link.hash)")
    named = [evidence["packet"] for each in findings for evidence in each["evidence"] if evidence.get("packet")]
    assert linked == [f"#packet-{number}" for number in named]
    return named


def test_each_trace_has_the_explanation_of_ble_log(page, corpus):
    problems = set()
    for trace in corpus:
        page.show(trace)
        check_explanation(page, trace)
        problems |= {json.loads(line)["kind"] for line in log(trace, "--explain", "--json") if json.loads(line)["problem"]}
        for link in links(trace):
            page.filter(link=link)
            check_explanation(page, trace, "--link", link)
    # The traces have something to explain.
    assert {"disconnection", "pairing"} <= problems


def test_findings_beyond_the_limit_are_counted(page, corpus, tmp_path):
    octets = next(trace for trace in corpus if trace.name == "pair-rejected.btsnoop").read_bytes()
    repeated = tmp_path / "repeated.btsnoop"
    repeated.write_bytes(octets[:16] + octets[16:] * 300)
    page.show(repeated)
    check_explanation(page, repeated)
    *_, omitted, scope = page.evaluate("[...document.querySelectorAll('#findings > p')].map((p) => p.textContent)")
    assert omitted == log(repeated, "--explain")[-2] and "more findings are not listed" in omitted


def test_the_diagram_is_that_of_ble_log(page, corpus):
    is_whole = False
    for trace in corpus:
        page.show(trace)
        page.change("document.querySelector('[value=ladder]').click()")
        lines = log(trace)
        if len(lines) <= 100:
            is_whole = True
            expected = "\n".join(log(trace, "--svg", "-")) + "\n"
            assert page.evaluate("ladder.svg") == expected, trace.name
            shown = [e.text for e in ElementTree.fromstring(expected).iter("{http://www.w3.org/2000/svg}text")]
            assert page.evaluate("[...document.querySelectorAll('#ladder svg text')].map((text) => text.textContent)") == shown
        arrows = page.evaluate(ARROWS)[1:]
        while not page.evaluate("document.querySelector('#later').disabled"):
            page.change("document.querySelector('#later').click()")
            arrows += page.evaluate(ARROWS)[1:]
        assert arrows == lines, trace.name
        page.change("document.querySelector('[value=list]').click()")
    assert is_whole


def test_the_list_keeps_its_place(page, corpus):
    page.show(next(trace for trace in corpus if trace.name == "inspect.btsnoop"))
    page.filter(all=True)
    row = "Number(document.querySelector('#packets [role=row]').ariaRowIndex)"
    page.evaluate("document.querySelector('#packets').scrollTop = 777")
    page.wait(f"{row} > 1")
    page.change("document.querySelector('[value=ladder]').click()")
    # The diagram begins with the first packet that the list shows.
    page.wait("document.querySelectorAll('#ladder svg').length")
    assert int(page.evaluate("document.querySelector('#ladder output').textContent").split()[0]) > 1
    page.change("document.querySelector('[value=list]').click()")
    page.wait("document.querySelector('#packets').scrollTop === 777")
    first = "document.querySelector('#packets .rows').getBoundingClientRect().top - document.querySelector('#packets').getBoundingClientRect().top"
    # The rows are those of this place.
    height = page.evaluate("document.querySelector('#packets [role=row]').getBoundingClientRect().height")
    assert abs((page.evaluate(row) - 1) * height - 777 - page.evaluate(first)) < 1


def test_a_link_to_a_packet_selects_it(page, corpus):
    trace = next(trace for trace in corpus if trace.name == "pair-rejected.btsnoop")
    page.show(trace)
    named = check_explanation(page, trace)
    page.evaluate("document.querySelector('#findings a').click()")
    selected = "document.querySelector('[aria-selected] a')?.hash"
    page.wait(f"{selected} === '#packet-{named[0]}'")
    assert page.evaluate("location.hash") == f"#packet-{named[0]}"
    line = page.text("[aria-selected] .line")
    assert line in log(trace) and line.strip() in page.text("#detail .text")
    assert "marked" in page.evaluate("document.querySelector('[aria-selected]').className")
    # The finding that the packet belongs to.
    assert page.text("#detail li") in {json.loads(each)["headline"] for each in log(trace, "--explain", "--json")}
    # The number of a line is a link to it.
    page.evaluate("document.querySelector('#packets [role=row] a').click()")
    number = page.text("#packets [role=row] a")
    page.wait(f"{selected} === '#packet-{number}' && location.hash === '#packet-{number}'")
    # Filters that hide the packet are removed.
    page.filter(layers=["l2cap"])
    page.evaluate("location.hash = '#packet-1'")
    page.wait(f"document.querySelector('[aria-selected]') && {selected} === '#packet-1'")
    assert "removed" in page.text("#status")
    assert page.lines() == log(trace, "--all")
    # The address of the page has the packet when a trace is opened.
    page.evaluate(f"location.hash = '#packet-{named[-1]}'")
    page.show(trace)
    assert page.evaluate(selected) == f"#packet-{named[-1]}"
    page.evaluate("location.hash = '#packet-100000'")
    page.wait("document.querySelector('#status').textContent.includes('no packet 100000')")


def test_keys_select_packets(page, corpus):
    trace = corpus[0]
    page.show(trace)
    lines = log(trace)
    chosen = "document.querySelector('[aria-selected] .line')?.textContent"

    def press(key, row):
        page.press(key)
        page.wait(f"{chosen} === {json.dumps(lines[row])}")
        active = page.evaluate("document.querySelector('#packets').getAttribute('aria-activedescendant')")
        assert page.evaluate("document.querySelector('[aria-selected]').id") == active == f"row-{row % len(lines)}"

    # The list has the focus.
    press("ArrowDown", 0)
    press("ArrowDown", 1)
    press("End", -1)
    press("ArrowUp", -2)
    press("Home", 0)
    page.press("Enter", text="\r")
    page.wait("location.hash === document.querySelector('[aria-selected] a').hash")


def test_text_is_found(page, corpus):
    trace = next(trace for trace in corpus if trace.name == "demo.btsnoop")
    page.show(trace)
    wanted = [index for index, line in enumerate(log(trace)) if "heart rate measurement = " in line.lower()]
    assert len(wanted) == 5
    page.press("/")
    page.call("Input.insertText", text="HEART RATE Measurement = ")
    page.wait("document.querySelector('#count').textContent === '5 matches'")
    page.wait("[...CSS.highlights.get('match')].every((range) => range.toString() === 'Heart Rate Measurement = ')")
    for modifiers, row in ((0, wanted[0]), (0, wanted[1]), (SHIFT, wanted[0]), (SHIFT, wanted[-1]), (0, wanted[0])):
        page.press("Enter", modifiers, text="\r")
        page.wait(f"document.querySelector('[aria-selected]')?.id === 'row-{row}'")
    page.change("document.querySelector('[name=matches]').click()")
    page.wait("document.querySelector('#packets').getAttribute('aria-rowcount') === '5'")
    assert page.lines() == [log(trace)[index] for index in wanted]
    # The selected packet stays selected.
    assert page.text("[aria-selected] .line") == log(trace)[wanted[0]]
    page.change("document.querySelector('[name=matches]').click()")
    page.wait(f"document.querySelector('#packets').getAttribute('aria-rowcount') === '{len(log(trace))}'")


def test_controls_have_names(page, corpus):
    page.show(corpus[0])
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    found = {}
    for node in nodes:
        if not node["ignored"]:
            found.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role in ("button", "checkbox", "radio", "combobox", "searchbox", "grid", "link", "DisclosureTriangle"):
        assert found.get(role), f"no {role}"
        assert all(found[role]), (role, found[role])


# Files


def test_what_is_shown_can_be_saved(page, corpus, tmp_path):
    trace = next(trace for trace in corpus if trace.name == "pair-rejected.btsnoop")
    page.show(trace)
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    for display, name, words in (("list", "txt", []), ("ladder", "svg", ["--svg", "-"])):
        page.change(f"document.querySelector('[value={display}]').click()")
        page.events.clear()
        page.change("document.querySelector('#save').click()")
        wait_until(lambda: page.evaluate("1") and any(
            event["method"] == "Page.downloadProgress" and event["params"]["state"] == "completed" for event in page.events
        ), "no download")  # fmt: skip
        assert (tmp_path / f"{trace.name}.{name}").read_text().splitlines() == log(trace, *words)


def test_a_dropped_file_is_opened(page, corpus):
    drop = page.drag(corpus[0], 400, 300)
    page.wait("getComputedStyle(document.querySelector('#drop')).display !== 'none'")
    drop()
    page.wait("document.body.className === 'open'")
    page.settle()
    assert page.lines() == log(corpus[0])
    assert page.evaluate("getComputedStyle(document.querySelector('#drop')).display") == "none"
    # Another one takes its place.
    page.drag(corpus[1], 400, 300)()
    page.wait(f"document.querySelector('#file').textContent.startsWith({json.dumps(corpus[1].name + ' ·')})")
    page.settle()
    assert page.lines() == log(corpus[1])


def test_a_damaged_or_foreign_file_says_what_is_wrong(page, corpus, tmp_path):
    trace = next(trace for trace in corpus if trace.name == "demo.btsnoop")
    logger = b"".join(packet_logger(trace, ">"))
    files = {
        "truncated.btsnoop": trace.read_bytes()[:-1],
        "truncated.pklg": logger[:-3],
        "damaged.pklg": logger + struct.pack(">III", 3, 0, 0) + b"\0",
        "photo.btsnoop": b"\x89PNG\r\n\x1a\n" + bytes(1000),
        "text": b"Nothing that a radio has sent.\n" * 20,
        "empty": b"",
        "ethernet.pcap": struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 1) + bytes(64),
    }
    for name, octets in files.items():
        file = tmp_path / name
        file.write_bytes(octets)
        done = subprocess.run([*product("ble"), "log", file], capture_output=True, text=True, timeout=LIMIT)
        assert done.stderr.startswith(f"ble: {file}: "), name
        page.show(file)
        assert page.fault() == done.stderr.removeprefix(f"ble: {tmp_path}/").rstrip("\n"), name
        is_open = page.evaluate("document.body.className") == "open"
        assert is_open == bool(done.stdout), name
        if is_open:
            assert page.lines() == done.stdout.splitlines()
            check_explanation(page, file)
    (tmp_path / "header").write_bytes(trace.read_bytes()[:16])
    page.show(tmp_path / "header")
    assert page.fault() == "header has no packets."
    page.show(trace)
    assert page.fault() == "" and page.lines() == log(trace)


def test_the_page_opens_no_connection(page, corpus):
    page.show(corpus[0])
    page.filter(all=True)
    page.change("document.querySelector('[value=ladder]').click()")
    requests = [event["params"]["request"]["url"] for event in page.events if event["method"] == "Network.requestWillBeSent"]
    # The page, and the worker, which is a part of it.
    assert [url.split(":")[0] for url in requests if url != "about:blank"] == ["file", "blob"], requests
    assert not [event for event in page.events if event["method"] == "Network.webSocketCreated"]
    # Its policy forbids others: the server gets none.
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        for attempt in (f"fetch('{address}')", f"new Promise((_, no) => Object.assign(new Image(), {{ src: '{address}', onerror: no }}))"):
            assert page.evaluate(f"{attempt}.then(() => 'sent', () => 'refused')") == "refused"
        with pytest.raises(BlockingIOError):
            server.accept()


# A large trace


def test_a_trace_of_100_megabytes_is_usable(page, corpus, tmp_path, capsys):
    trace = next(trace for trace in corpus if trace.name == "inspect.btsnoop")
    octets = trace.read_bytes()
    size = sum(1 for _ in records(trace))
    times = 100_000_000 // (len(octets) - 16) + 1
    large, twice = tmp_path / "large.btsnoop", tmp_path / "twice.btsnoop"
    large.write_bytes(octets[:16] + octets[16:] * times)
    twice.write_bytes(octets[:16] + octets[16:] * 2)
    # From the second time on the names of all attributes are known.
    page.show(twice)
    page.filter(all=True)
    second = {number - size: line for number, line, _ in page.evaluate(ROWS) if number > size}
    assert list(second.values()) == log(twice, "--all")[-len(second):]

    page.open(PAGE)
    page.evaluate(
        "window.gap = 0; let last = performance.now(); const frame = (now) => { gap = Math.max(gap, now - last); last = now; "
        "requestAnimationFrame(frame) }; requestAnimationFrame(frame)"
    )
    start = time.monotonic()
    page.choose("#chooser", large)
    # Packets are shown while the file is read.
    page.wait("document.body.className === 'reading' && document.querySelectorAll('#packets .line').length > 10")
    first = time.monotonic() - start
    page.wait("document.body.className !== 'reading'")
    page.settle()
    seconds = time.monotonic() - start
    assert page.evaluate("packets") == size * times
    gap = page.evaluate("gap")
    with capsys.disabled():
        print(
            f"\n{large.stat().st_size / 1e6:.0f} MB, {size * times:,} packets: first lines after {first:.1f} s, all after {seconds:.1f} s; "
            f"longest time between two frames {gap:.0f} ms; memory of the page {memory(page) / 1e6:.0f} MB", end=""
        )  # fmt: skip

    def check(number):
        page.wait(f"document.querySelector('[aria-selected] a')?.hash === '#packet-{number}'")
        line = page.text("[aria-selected] .line")
        assert line == second[(number - 1) % size + 1]
        # The details of the packet take a part of the window.
        page.wait(f"document.querySelector('#detail .text').textContent.includes({json.dumps(line.strip())})")
        box = "document.querySelector('{}').getBoundingClientRect()"
        row, list = box.format("[aria-selected]"), box.format("#packets")
        page.wait(f"{row}.top >= {list}.top - 1 && {row}.bottom <= {list}.bottom + 1")

    page.filter(all=True)
    page.evaluate("document.querySelector('#packets').focus()")
    page.press("End")
    check(size * (times - 1) + max(second))
    # By the scroll bar.
    page.press("Home")
    page.evaluate("document.querySelector('#packets').scrollTop = 1e9")
    last = "[...document.querySelectorAll('#packets [role=row]')].at(-1)"
    page.wait(f"{last}?.querySelector('a')?.textContent === '{size * (times - 1) + max(second)}'")
    assert page.evaluate(f"{last}.getBoundingClientRect().bottom - document.querySelector('#packets').getBoundingClientRect().bottom") <= 1
    middle = size * (times // 2) + sorted(second)[len(second) // 2]
    page.evaluate(f"location.hash = '#packet-{middle}'")
    check(middle)
    # Only the visible rows are elements.
    assert page.evaluate("document.querySelectorAll('#packets [role=row]').length") < 120
    wanted = "Read By Group Type Request"
    page.press("/")
    page.call("Input.insertText", text=wanted)
    matches = sum(wanted in line for line in second.values()) * times
    page.wait(f"document.querySelector('#count').textContent === '{matches:,} matches'")
    with capsys.disabled():
        print(f"; with a search {memory(page) / 1e6:.0f} MB", end="")


def memory(page):
    """The octets of memory of the renderer."""
    session, page.session = page.session, None
    processes = page.call("SystemInfo.getProcessInfo")["processInfo"]
    page.session = session
    sizes = [
        int(re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{process['id']}/status").read_text(), re.M)[1]) * 1024
        for process in processes if process["type"] == "renderer"
    ]  # fmt: skip
    return max(sizes)
