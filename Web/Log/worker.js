"use strict";
// The worker of the page: it reads a trace and answers questions about it. The WebAssembly module decodes the packets and keeps them; this
// file passes octets, numbers and text between the module and the page.
//
// A message of the page is { id, call, argument }: the name of a function below and its argument. The answer is { id, result } or
// { id, error }. While a file is read and while its text is searched, messages { progress } come without a request.

const CHUNK = 1 << 20; // the octets that are read of a file at once
const INTERVAL = 200; // milliseconds between two reports of progress
const BATCH = 4096; // the rows whose text is searched or saved at once

const LINE = 0, LINES = 1, DIAGRAM = 3, FAULT = 4, LINKS = 5, EXPLANATION = 6; // the texts of the module

let log; // the functions of the module
let rows = 0; // the rows that the filters leave
let matches = []; // those of them that have the text of the search, in their order
let showsMatches = false; // whether the page shows only these
let search = 0; // the number of the last search: an earlier one ends

const decoder = new TextDecoder();

/** A text of the module. */
function text(kind, a = 0, b = 0) {
  const length = log.log_text(kind, a, b);
  return decoder.decode(new Uint8Array(log.memory.buffer, log.log_text_pointer(), length));
}

/** Copies octets into the buffer of the module. */
function pass(octets) {
  const pointer = log.log_reserve(octets.length);
  new Uint8Array(log.memory.buffer, pointer, octets.length).set(octets);
  return pointer;
}

/** Whether an interval has passed since the last time that it had. */
function every(milliseconds) {
  let last = performance.now();
  return () => {
    if (performance.now() - last < milliseconds) return false;
    last = performance.now();
    return true;
  };
}

/** Lets the worker take the messages that wait. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/** The row of the module for a row of the page. */
const moduleRow = (row) => (showsMatches ? matches[row] : row);
const shownRows = () => (showsMatches ? matches.length : rows);

const calls = {
  /** Reads a file. The packets that have been read can be asked for in the meantime. */
  async open({ module, file }) {
    log = (await WebAssembly.instantiate(module)).exports;
    log._initialize?.();
    const isDue = every(INTERVAL);
    let hasFault = false;
    for (let offset = 0; offset < file.size && !hasFault; offset += CHUNK) {
      const octets = new Uint8Array(await file.slice(offset, offset + CHUNK).arrayBuffer());
      pass(octets);
      hasFault = log.log_add(octets.length) !== 0;
      if (isDue()) {
        rows = log.log_filter(0, 0, 0, 0);
        postMessage({ progress: { octets: offset + octets.length, packets: log.log_packets(), rows } });
      }
    }
    if (!hasFault) log.log_finish();
    const fault = text(FAULT);
    rows = log.log_filter(0, 0, 0, 0);
    const links = text(LINKS).split("\n").filter(Boolean).map((line) => {
      const [handle, address, packets] = line.split("\t");
      return { handle, address, packets: Number(packets) };
    });
    return { packets: log.log_packets(), rows, fault, links };
  },

  /** Applies the filters of `ble log`; `layers` has a bit for each protocol, or 0 for all. */
  filter({ all, layers, link }) {
    const word = new TextEncoder().encode(link);
    const count = log.log_filter(all ? 1 : 0, layers, pass(word), word.length);
    if (count < 0) return { rows, fault: text(FAULT) };
    [rows, matches, showsMatches] = [count, [], false];
    search += 1;
    return { rows };
  },

  /** The findings about the link of the filter, or about all links: lines of `ble log --explain`. */
  explanation() {
    return text(EXPLANATION).split("\n").map((line) => {
      const [, isProblem, ...rest] = line.split("\t");
      return { isProblem: isProblem === "1", text: rest.join("\t") };
    });
  },

  /** Some rows: the number of each packet, its style and its line. */
  rows({ first, count }) {
    const last = Math.min(first + count, shownRows());
    const indices = Array.from({ length: Math.max(0, last - first) }, (_, index) => moduleRow(first + index));
    const lines = showsMatches ? indices.map((row) => text(LINE, row)) : text(LINES, first, last).split("\n");
    return indices.map((row, index) => {
      const style = log.log_row_style(row);
      return { number: log.log_row_number(row), isFailure: (style & 1) === 1, layer: style >> 1, line: lines[index] };
    });
  },

  /** The row of a packet; that of the next one if the packet has none. */
  rowOf({ number }) {
    let [low, high] = [0, shownRows()];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (log.log_row_number(moduleRow(middle)) < number) low = middle + 1;
      else high = middle;
    }
    return { row: Math.min(low, shownRows() - 1), isExact: low < shownRows() && log.log_row_number(moduleRow(low)) === number };
  },

  /** Finds the rows with a text, in upper or lower case. Null if another search or filter came in between. */
  async search({ wanted, onlyMatches }) {
    const current = ++search;
    const [isDue, isLong] = [every(INTERVAL), every(30)];
    const found = [];
    const needle = wanted.toLowerCase();
    for (let first = 0; needle && first < rows; first += BATCH) {
      const lines = text(LINES, first, Math.min(first + BATCH, rows)).toLowerCase();
      let [row, start] = [first, 0];
      for (let at = lines.indexOf(needle); at >= 0; at = lines.indexOf(needle, start)) {
        for (let end = lines.indexOf("\n", start); end >= 0 && end < at; end = lines.indexOf("\n", start)) {
          [row, start] = [row + 1, end + 1];
        }
        found.push(row);
        // At most one match in each line.
        start = lines.indexOf("\n", at) + 1;
        row += 1;
        if (start === 0) break;
      }
      if (isDue()) postMessage({ progress: { matches: found.length, searched: first / rows } });
      if (isLong()) await pause();
      if (current !== search) return null;
    }
    [matches, showsMatches] = [found, onlyMatches && needle !== ""];
    return { count: matches.length, rows: shownRows() };
  },

  /** The next match after a row of the page, or the one before it; from the other end when there is none. */
  match({ row, isForward }) {
    if (matches.length === 0) return -1;
    if (showsMatches) return (row + (isForward ? 1 : -1) + matches.length) % matches.length;
    const after = matches.findIndex((match) => match > row);
    if (isForward) return matches[Math.max(0, after)];
    const before = matches.findLast((match) => match < row);
    return before ?? matches.at(-1);
  },

  /** The ladder diagram of packets that the filters leave, from that of a number, or with a distance in rows from it. */
  diagram({ number, distance, count }) {
    const shown = showsMatches;
    showsMatches = false;
    const first = Math.max(0, Math.min(calls.rowOf({ number }).row + distance, rows - 1));
    showsMatches = shown;
    const last = Math.min(first + count, rows);
    const numbers = Array.from({ length: last - first }, (_, index) => log.log_row_number(first + index));
    return { svg: text(DIAGRAM, first, last), numbers, first, last, rows };
  },

  /** The lines of all rows as a file. */
  save() {
    const parts = [];
    if (showsMatches) parts.push(...matches.map((row) => text(LINE, row) + "\n"));
    for (let first = 0; !showsMatches && first < rows; first += BATCH) {
      parts.push(text(LINES, first, Math.min(first + BATCH, rows)) + "\n");
    }
    return new Blob(parts, { type: "text/plain" });
  },
};

onmessage = async ({ data: { id, call, argument } }) => {
  try {
    postMessage({ id, result: await calls[call](argument) });
  } catch (error) {
    postMessage({ id, error: String(error) });
  }
};
