"use strict";
// The page: opens files, and shows what the worker answers. A trace has one worker, which ends with it.

const LADDER_ROWS = 100; // arrows of a diagram
const CONTEXT = 10; // those of them before the selected packet
const HEAD_HEIGHT = 56; // pixels of a diagram above its first arrow

const $ = (selector) => document.querySelector(selector);
const number = new Intl.NumberFormat("en").format;

/** `1.2 MB` */
function size(octets) {
  const index = octets < 1e3 ? 0 : octets < 1e6 ? 1 : octets < 1e9 ? 2 : 3;
  return `${(octets / 1000 ** index).toLocaleString("en", { maximumFractionDigits: index && 1 })} ${["octets", "kB", "MB", "GB"][index]}`;
}

/** The octets of the WebAssembly module: in the page they are compressed, in Base64. */
async function moduleOctets() {
  const octets = Uint8Array.from(atob($("#module").textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([octets]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
let module; // a promise: it is compiled once, when the first trace is opened

/** The error of calls to a trace that is closed. */
class Closed extends Error {}

/** A worker with a trace. Its calls are those of worker.js. */
class Trace {
  #worker;
  #calls = new Map();
  #last = 0;
  #isClosed = false;

  constructor(onprogress) {
    const url = URL.createObjectURL(new Blob([$("#worker").textContent], { type: "text/javascript" }));
    this.#worker = new Worker(url);
    URL.revokeObjectURL(url);
    this.#worker.onmessage = ({ data: { id, result, error, progress } }) => {
      if (progress) return onprogress(progress);
      const { resolve, reject } = this.#calls.get(id);
      this.#calls.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    };
  }

  call(call, argument = {}) {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new Closed());
      this.#calls.set(++this.#last, { resolve, reject });
      this.#worker.postMessage({ id: this.#last, call, argument });
    });
  }

  /** Ends the worker and its calls. */
  close() {
    this.#isClosed = true;
    this.#worker.terminate();
    this.#calls.forEach(({ reject }) => reject(new Closed()));
  }
}

let trace; // that of the open file
let file;
let packets = 0;
let headlines = new Map(); // the findings of each packet that is evidence
let selected; // the selected packet
let filterings = 0; // how often filters were applied
let shownLink = ""; // the link that the explanation is about
let ladder = { number: 1, distance: 0 }; // where the diagram begins

const form = $("#filters");
const list = new PacketList($("#packets"), (first, count) => trace.call("rows", { first, count }).catch((error) => failed(error) ?? []));

let pending = 0; // operations that have not ended

/** Runs an operation, and shows its failure. */
async function run(operation, ...values) {
  $("main").ariaBusy = String(++pending > 0);
  try {
    await operation(...values);
  } catch (error) {
    failed(error);
  }
  $("main").ariaBusy = String(--pending > 0);
}

// Opening

async function open(chosen) {
  trace?.close();
  [file, packets, selected, headlines] = [chosen, 0, undefined, new Map()];
  trace = new Trace(showProgress);
  const opened = trace;
  document.body.className = "reading";
  form.reset();
  shownLink = $("#count").textContent = "";
  for (const id of ["fault", "explanation", "filters", "detail", "ladder", "save"]) $(`#${id}`).hidden = true;
  for (const id of ["progress", "packets", "search"]) $(`#${id}`).hidden = false;
  report("");
  list.highlight("");
  list.mark(new Set());
  list.reset(0);
  showProgress({ octets: 0, packets: 0, rows: 0 });
  document.title = `${file.name} – ble log`;
  $("#file").textContent = file.name;
  module ??= moduleOctets().then((octets) => WebAssembly.compile(octets));
  await show(await opened.call("open", { module: await module, file }));
}

function showProgress({ octets, packets, rows, matches, searched }) {
  if (searched !== undefined) {
    $("#count").textContent = `${number(matches)} in ${Math.round(100 * searched)} %`;
    return;
  }
  $("#progress progress").max = file.size || 1;
  $("#progress progress").value = octets;
  $("#progress output").textContent = `${size(octets)} of ${size(file.size)}, ${number(packets)} packets`;
  list.grow(rows);
}

/** Shows a trace that has been read. */
async function show(read) {
  packets = read.packets;
  $("#progress").hidden = true;
  if (read.fault) fault(`${file.name}: ${read.fault}`);
  if (packets === 0) {
    if (!read.fault) fault(`${file.name} has no packets.`);
    return close();
  }
  document.body.className = "open";
  $("#file").textContent = `${file.name} · ${number(packets)} packets · ${size(file.size)}`;
  for (const id of ["explanation", "filters", "save", "detail"]) $(`#${id}`).hidden = false;
  $("#detail .text").textContent = "Select a packet to see its whole line. The arrow keys, Page Up, Page Down, Home and End move the selection.";
  $("#detail ul").replaceChildren();
  $("#copy").disabled = true;
  nameSave();
  // The width of the column of numbers.
  $("#packets").style.setProperty("--digits", String(packets).length);
  form.elements.link.replaceChildren(new Option("All links", ""), ...linkOptions(read.links));
  form.elements.link.hidden = read.links.length === 0;
  list.grow(read.rows);
  await explain();
  await followHash();
  $("#packets").focus({ preventScroll: true });
}

/** The start, after a file without packets or one that was not read to its end. */
function close() {
  trace.close();
  document.body.className = "empty";
  for (const id of ["progress", "packets", "explanation", "filters", "ladder", "detail", "save"]) $(`#${id}`).hidden = true;
}

/** Choices for the filter: handles, and the devices that had several. */
function linkOptions(links) {
  const handles = Map.groupBy(links, ({ handle }) => handle);
  const devices = Map.groupBy(links.filter(({ address }) => address), ({ address }) => address);
  const options = [...handles].map(([handle, same]) => {
    const names = same.map(({ address }) => address).filter(Boolean);
    return new Option([handle, names.slice(0, 2).join(", ")].filter(Boolean).join(" with ") + (names.length > 2 ? ", …" : ""), handle);
  });
  const several = [...devices].filter(([, same]) => same.length > 1);
  return [...options, ...several.map(([address, same]) => new Option(`${address}, ${same.length} links`, address))];
}

function fault(text) {
  $("#fault").textContent = text;
  $("#fault").hidden = false;
}

/** Shows why an operation has failed. The trace is closed: the module may be in any state. */
function failed(error) {
  if (error instanceof Closed) return;
  const isOfFile = /^Not(Readable|Found)Error/.test(error.message);
  fault(isOfFile ? `${file.name} cannot be read: it was changed or removed, or the browser may not read it.`
    : `${file.name}: this page has failed. Please report it, if possible with the trace. ${error.message}`);
  close();
}

function report(text) { $("#status").textContent = text; }

// The explanation

async function explain() {
  $("#explanation").open = true;
  const lines = await trace.call("explanation");
  const content = document.createDocumentFragment();
  let [section, finding, evidence] = [null, null, null];
  const marked = new Map();
  const verdict = lines.pop().text;
  const end = verdict.indexOf(". ") + 1;
  const heads = lines.filter(({ text }) => /^ {2}\S/.test(text));
  $("#explanation summary").textContent = verdict.slice(0, end);
  $("#explanation").classList.toggle("problem", heads.some(({ isProblem }) => isProblem));
  for (const [index, { text, isProblem }] of lines.entries()) {
    const indent = text.search(/\S/);
    if (indent === 0 && index === lines.length - 1) {
      // The number of findings that are not listed.
      content.append(element("p", text));
    } else if (indent === 0) {
      content.append(element("h3", text), section = element("ul"));
    } else if (indent === 2) {
      section.append(finding = element("li"));
      finding.classList.toggle("problem", isProblem);
      finding.append(element("p", text.trim()));
      evidence = null;
    } else if (indent > 2 && text.trim().startsWith("=>")) {
      finding.append(element("p", text.trim(), "remedy"));
    } else if (indent > 2) {
      if (!evidence) finding.append(evidence = element("ul"));
      const item = element("li");
      item.append(...linked(text.trim()));
      evidence.append(item);
      for (const [, packet] of text.matchAll(/^ +packet (\d+):/g)) {
        marked.set(Number(packet), [...marked.get(Number(packet)) ?? [], finding.firstChild.textContent]);
      }
    }
  }
  content.append(element("p", verdict.slice(end).trim(), "scope"));
  // As high as it needs to be, within a part of the window. The user can change that.
  const findings = $("#findings");
  findings.replaceChildren(content);
  findings.style.height = "";
  findings.style.height = `min(${findings.offsetHeight}px, 30vh)`;
  headlines = marked;
  list.mark(new Set(marked.keys()));
}

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

/** The text with a link for the packet that it begins with. */
function linked(text) {
  const match = /^(packet (\d+):)(.*)$/s.exec(text);
  if (!match) return [text];
  const link = element("a", match[1]);
  link.href = `#packet-${match[2]}`;
  return [link, match[3]];
}

// Packets

list.onselect = (row, packet) => {
  selected = packet;
  const detail = $("#detail");
  $("#copy").disabled = false;
  const link = element("a", `packet ${number(packet.number)}`);
  link.href = `#packet-${packet.number}`;
  detail.querySelector(".text").replaceChildren(link, " ", element("span", packet.line.trim()));
  detail.querySelector("ul").replaceChildren(...(headlines.get(packet.number) ?? []).map((text) => element("li", text)));
};

/** Selects the packet that the address names, if it names one. */
async function followHash() {
  const match = /^#packet-(\d+)$/.exec(location.hash);
  if (!match || document.body.className !== "open") return false;
  await goTo(Number(match[1]));
  return true;
}

/** Selects a packet. Filters that hide it are removed. */
async function goTo(wanted) {
  if (wanted < 1 || wanted > packets) return report(`${file.name} has ${number(packets)} packets, and no packet ${wanted}.`);
  let [text, found] = ["", await trace.call("rowOf", { number: wanted })];
  if (!found.isExact) {
    const { all, link } = form.elements;
    [all.checked, link.value, form.elements.matches.checked] = [true, "", false];
    form.elements.layer.forEach((layer) => layer.checked = true);
    await filter();
    text = `The filters are removed, because they hid packet ${number(wanted)}.`;
    found = await trace.call("rowOf", { number: wanted });
    if (!found.isExact) text = `Packet ${number(wanted)} is a fragment: the selected packet follows it.`;
  }
  report(text);
  await list.select(found.row);
  if (form.elements.display.value === "ladder") {
    if (!$(`#ladder a[href="#packet-${wanted}"]`)) await draw({ number: wanted, distance: -CONTEXT });
    highlightArrow();
  }
}

// Filters and search

/** The bits of the protocols; 0 if none is left out. */
function layers() {
  const chosen = [...form.elements.layer].filter((layer) => layer.checked);
  return chosen.length === form.elements.layer.length ? 0 : chosen.reduce((bits, layer) => bits | Number(layer.value), 0);
}

/** Applies the filters, and shows the selected packet or the next one. */
async function filter() {
  const { all, layer, link } = form.elements;
  // Without any protocol nothing is left: then all are shown.
  if (layers() === 0) layer.forEach((one) => one.checked = true);
  const current = ++filterings;
  const result = await trace.call("filter", { all: all.checked, layers: layers(), link: link.value });
  // Other filters have been chosen.
  if (current !== filterings) return;
  if (result.fault) return fault(`${file.name} ${result.fault}`);
  await showRows(result.rows);
  if (form.elements.text.value) await find();
  if (link.value !== shownLink) {
    shownLink = link.value;
    await explain();
  }
}

/** Shows the rows of the filters or of the search. */
async function showRows(count) {
  const wanted = selected?.number;
  list.reset(count);
  const text = count === 0 ? "No packet passes the filters." : "";
  report(text);
  if (wanted !== undefined && count > 0) await list.select((await trace.call("rowOf", { number: wanted })).row);
  if (form.elements.display.value === "ladder") await drawAroundSelected();
}

/** Searches the rows for the text. */
async function find() {
  const { text, matches } = form.elements;
  const found = await trace.call("search", { wanted: text.value, onlyMatches: matches.checked });
  if (!found) return;
  list.highlight(text.value);
  $("#count").textContent = text.value ? `${number(found.count)} ${found.count === 1 ? "match" : "matches"}` : "";
  if (list.count !== found.rows || matches.checked) await showRows(found.rows);
}

async function goToMatch(isForward) {
  const row = await trace.call("match", { row: list.selected, isForward });
  if (row >= 0) await list.select(row);
}

let delay;
form.addEventListener("input", ({ target }) => {
  if (target.name === "display") display();
  else if (target.name === "text" || target.name === "matches") {
    clearTimeout(delay);
    delay = setTimeout(run, target.name === "text" ? 150 : 0, find);
  } else run(filter);
});
form.addEventListener("submit", (event) => event.preventDefault());
form.elements.text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  run(goToMatch, !event.shiftKey);
});
$("#next").addEventListener("click", () => run(goToMatch, true));
$("#previous").addEventListener("click", () => run(goToMatch, false));

// The ladder diagram

function display() {
  const isLadder = form.elements.display.value === "ladder";
  $("#packets").hidden = isLadder;
  nameSave();
  $("#search").hidden = isLadder;
  $("#ladder").hidden = !isLadder;
  if (isLadder) run(drawAroundSelected);
  else if (list.selected >= 0) list.select(list.selected);
}

/** Draws from some packets before the selected one, or from the first packet that the list shows. */
async function drawAroundSelected() {
  const first = selected ?? (list.count > 0 ? await list.packet(list.first) : undefined);
  await draw({ number: first?.number ?? 1, distance: selected ? -CONTEXT : 0 });
}

async function draw(place) {
  const { svg, numbers, first, last, rows } = await trace.call("diagram", { ...place, count: LADDER_ROWS });
  ladder = { number: numbers[0] ?? 1, svg };
  const diagram = $("#ladder .diagram");
  const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  // Each arrow is a link to its packet.
  picture.querySelectorAll("g").forEach((arrow, index) => {
    const link = document.createElementNS("http://www.w3.org/2000/svg", "a");
    link.setAttribute("href", `#packet-${numbers[index]}`);
    arrow.replaceWith(link);
    link.append(arrow);
  });
  // The names of the columns stay visible.
  const head = picture.cloneNode(false);
  head.setAttribute("viewBox", `0 0 ${head.getAttribute("width")} ${HEAD_HEIGHT}`);
  head.setAttribute("height", HEAD_HEIGHT);
  head.append(...picture.querySelectorAll(":scope > rect, :scope > text"));
  diagram.replaceChildren(head, picture);
  $("#ladder output").textContent = rows === 0 ? "No packet passes the filters."
    : `${number(first + 1)} to ${number(last)} of ${number(rows)} packets`;
  $("#earlier").disabled = first === 0;
  $("#later").disabled = last === rows;
  highlightArrow();
}

function highlightArrow() {
  $("#ladder a[aria-current]")?.removeAttribute("aria-current");
  const arrow = $(`#ladder a[href="#packet-${selected?.number}"]`);
  arrow?.setAttribute("aria-current", "true");
  arrow?.scrollIntoView({ block: "center" });
}

$("#earlier").addEventListener("click", () => run(draw, { number: ladder.number, distance: -LADDER_ROWS }));
$("#later").addEventListener("click", () => run(draw, { number: ladder.number, distance: LADDER_ROWS }));

// Files that the page writes

function nameSave() {
  $("#save").textContent = form.elements.display.value === "ladder" ? "Save as SVG" : "Save as text";
}

async function save() {
  const isLadder = form.elements.display.value === "ladder";
  const content = isLadder ? new Blob([ladder.svg], { type: "image/svg+xml" }) : await trace.call("save");
  const link = element("a");
  link.href = URL.createObjectURL(content);
  link.download = `${file.name}.${isLadder ? "svg" : "txt"}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
$("#save").addEventListener("click", () => run(save));

async function copy() {
  await navigator.clipboard.writeText(selected.line);
  report("The line is copied.");
}
$("#copy").addEventListener("click", () => run(copy));
// A page from a server without TLS has no clipboard.
$("#copy").hidden = !navigator.clipboard;

// Files that the page reads

$("#chooser").addEventListener("change", ({ target }) => {
  if (target.files[0]) run(open, target.files[0]);
  // The same file can be chosen again.
  target.value = "";
});
$("#cancel").addEventListener("click", () => {
  close();
  $("#chooser").focus();
});

let dragged = 0; // the elements that the file is over: one is entered before the last one is left
const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
addEventListener("dragenter", (event) => {
  if (hasFiles(event)) document.documentElement.classList.toggle("dragging", ++dragged > 0);
});
addEventListener("dragleave", (event) => {
  if (hasFiles(event)) document.documentElement.classList.toggle("dragging", --dragged > 0);
});
addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  dragged = 0;
  document.documentElement.classList.remove("dragging");
  if (event.dataTransfer.files[0]) run(open, event.dataTransfer.files[0]);
});

addEventListener("hashchange", () => run(followHash));
// The search of the browser finds only the lines that are drawn. A second Control-F in the field is that of the browser.
addEventListener("keydown", (event) => {
  const isFind = event.key === "f" && (event.ctrlKey || event.metaKey);
  const isSlash = event.key === "/" && !event.target.matches("input[type=search], select");
  if (form.hidden || !(isFind || isSlash) || event.target === form.elements.text) return;
  event.preventDefault();
  form.elements.text.select();
});
