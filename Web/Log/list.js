"use strict";
// A list of any number of packets, of which only the visible rows are elements.
//
// Browsers limit the height of an element, some to 17 million pixels. A list that would be higher has this height instead, and its place
// is not that of the scroll bar: `top` is the place in pixels of the whole list, and the scroll bar shows it in proportion.

const MAXIMUM_HEIGHT = 8_000_000; // pixels
const OVERSCAN = 12; // rows that are drawn above and below the visible ones
const BLOCK = 256; // rows that are requested at once
const BLOCK_LIMIT = 64; // blocks that are kept

const LAYERS = ["hci", "l2cap", "att", "smp"];

/** Spans for the columns of a line of `ble log`: time, direction, protocol, name, parameters. Their text is the line. */
function lineParts(line) {
  const match = /^( *-?[\d.]+ )([<>] )(\w+ +)([^:]*)(.*)$/s.exec(line);
  if (!match) return [line];
  return ["time", "direction", "layer", "name", "parameters"].map((name, index) => {
    const span = document.createElement("span");
    span.className = name;
    span.textContent = match[index + 1];
    return span;
  });
}

class PacketList {
  #element;
  #space = document.createElement("div"); // has the height of the list
  #visible = document.createElement("div"); // the rows that are drawn
  #load; // (first, count) => a promise of packets
  #blocks = new Map(); // arrays of packets, or promises of them
  #version = 0; // changes with each content
  #rows = new Map(); // the elements of the rows that are drawn
  #count = 0;
  #top = 0; // whole pixels: text between two is blurred
  #scrolled = 0; // the place of the scroll bar that belongs to `top`
  #rowHeight = 22;
  #height = 0; // of the element, at the last change
  #selected = -1;
  #text = ""; // what is highlighted
  /** Called with a row and its packet when it is selected. */
  onselect = () => {};
  /** The numbers of packets that have a mark. */
  marked = new Set();

  constructor(element, load) {
    this.#element = element;
    this.#load = load;
    this.#space.role = "presentation";
    this.#visible.role = "rowgroup";
    this.#space.className = "space";
    this.#visible.className = "rows";
    element.append(this.#space, this.#visible);
    element.addEventListener("scroll", () => this.#scroll());
    element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    element.addEventListener("keydown", (event) => this.#key(event));
    element.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(() => this.#resize()).observe(element);
  }

  get count() { return this.#count; }
  get selected() { return this.#selected; }
  /** The first row that is completely visible. */
  get first() { return Math.min(Math.ceil(this.#top / this.#rowHeight), Math.max(0, this.#count - 1)); }

  /** Shows other rows, from the first one. */
  reset(count) {
    this.#version += 1;
    this.#blocks.clear();
    this.#selected = -1;
    this.#element.removeAttribute("aria-activedescendant");
    this.#clear();
    this.#setCount(count);
    this.#setTop(0);
  }

  /** Shows more rows after those that are there. */
  grow(count) {
    // The last block may have been incomplete.
    this.#blocks.delete(Math.floor(this.#count / BLOCK));
    this.#setCount(count);
    this.#draw();
  }

  /** Highlights a text in the lines. */
  highlight(text) {
    this.#text = text.toLowerCase();
    this.#highlightRows();
  }

  /** Draws the marks anew. */
  mark(numbers) {
    this.marked = numbers;
    this.#clear();
    this.#draw();
  }

  async packet(row) {
    const block = Math.floor(row / BLOCK);
    return (await this.#block(block))[row - block * BLOCK];
  }

  /** Selects a row, and scrolls so far that it is visible, in the middle if it was far away. */
  async select(row) {
    if (row < 0 || row >= this.#count) return;
    this.#rows.get(this.#selected)?.removeAttribute("aria-selected");
    this.#selected = row;
    this.#reveal(row);
    this.#draw();
    this.#rows.get(row)?.setAttribute("aria-selected", "true");
    this.#element.setAttribute("aria-activedescendant", `row-${row}`);
    const [version, packet] = [this.#version, await this.packet(row)];
    if (version === this.#version && packet) this.onselect(row, packet);
  }

  // Height and place

  #setCount(count) {
    this.#count = count;
    this.#element.setAttribute("aria-rowcount", count);
    this.#space.style.height = `${Math.min(count * this.#rowHeight, MAXIMUM_HEIGHT)}px`;
  }

  /** The pixels of the list for one of the scroll bar. */
  get #scale() {
    const height = this.#element.clientHeight;
    const whole = this.#count * this.#rowHeight;
    return whole <= MAXIMUM_HEIGHT ? 1 : (whole - height) / (MAXIMUM_HEIGHT - height);
  }

  #setTop(pixels) {
    const last = Math.max(0, this.#count * this.#rowHeight - this.#element.clientHeight);
    this.#top = Math.round(Math.max(0, Math.min(pixels, last)));
    this.#element.scrollTop = this.#top / this.#scale;
    this.#scrolled = this.#element.scrollTop;
    this.#draw();
  }

  #reveal(row) {
    const [start, end] = [row * this.#rowHeight, (row + 1) * this.#rowHeight];
    const height = this.#element.clientHeight;
    if (start < this.#top - height || end > this.#top + 2 * height) this.#setTop(start - height / 2);
    else if (start < this.#top) this.#setTop(start);
    else if (end > this.#top + height) this.#setTop(end - height);
  }

  #isVisible(row) {
    const start = row * this.#rowHeight;
    return start >= this.#top - 1 && start + this.#rowHeight <= this.#top + this.#height + 1;
  }

  #scroll() {
    // An event of #setTop: the scroll bar has fewer places than the list.
    if (this.#element.scrollTop === this.#scrolled) return;
    this.#scrolled = this.#element.scrollTop;
    this.#top = Math.round(this.#scrolled * this.#scale);
    this.#draw();
  }

  #wheel(event) {
    // A turn of the wheel moves the list by the same distance, whatever its length is.
    if (this.#scale === 1 || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const unit = [1, this.#rowHeight, this.#element.clientHeight][event.deltaMode];
    this.#setTop(this.#top + event.deltaY * unit);
  }

  #resize() {
    const height = this.#element.clientHeight;
    // The event of a new place may follow. An element that is not displayed loses its place.
    if (height > 0 && this.#height > 0) this.#scroll();
    const wasVisible = this.#selected >= 0 && this.#isVisible(this.#selected);
    this.#height = height;
    if (height === 0) return;
    const row = this.#visible.firstElementChild;
    if (row) this.#rowHeight = row.getBoundingClientRect().height || this.#rowHeight;
    this.#setCount(this.#count);
    this.#setTop(this.#top);
    // The details of the selected packet take a part of the window.
    if (wasVisible) this.#reveal(this.#selected);
  }

  // Keys and clicks

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.#element.clientHeight / this.#rowHeight) - 1);
    const from = this.#selected < 0 ? this.first - 1 : this.#selected;
    const row = {
      ArrowDown: from + 1, ArrowUp: from - 1, PageDown: from + page, PageUp: from - page, Home: 0, End: this.#count - 1,
    }[event.key];
    if (row !== undefined) {
      event.preventDefault();
      this.select(Math.max(0, Math.min(row, this.#count - 1)));
    } else if (event.key === "Enter") {
      this.#rows.get(this.#selected)?.querySelector("a")?.click();
    }
  }

  #click(event) {
    const element = event.target.closest("[role=row]");
    // A click on the number is a link; one after a selection of text is its end.
    if (element && !event.target.closest("a") && getSelection().isCollapsed) this.select(Number(element.ariaRowIndex) - 1);
  }

  // Drawing

  #clear() {
    this.#rows.clear();
    this.#visible.replaceChildren();
  }

  #draw() {
    const height = this.#element.clientHeight;
    const first = Math.max(0, Math.floor(this.#top / this.#rowHeight) - OVERSCAN);
    const last = Math.min(this.#count, Math.ceil((this.#top + height) / this.#rowHeight) + OVERSCAN);
    this.#visible.style.transform = `translateY(${this.#scrolled + first * this.#rowHeight - this.#top}px)`;
    for (const [row, element] of this.#rows) {
      if (row >= first && row < last) continue;
      element.remove();
      this.#rows.delete(row);
    }
    let next = this.#visible.firstElementChild;
    for (let row = first; row < last; row++) {
      const element = this.#rows.get(row);
      if (element) next = element.nextElementSibling;
      else this.#visible.insertBefore(this.#create(row), next);
    }
    this.#highlightRows();
  }

  #create(row) {
    const element = document.createElement("div");
    element.role = "row";
    element.id = `row-${row}`;
    element.ariaRowIndex = row + 1;
    if (row === this.#selected) element.setAttribute("aria-selected", "true");
    this.#rows.set(row, element);
    const index = Math.floor(row / BLOCK);
    const block = this.#blocks.get(index);
    if (Array.isArray(block)) this.#fill(element, block[row - index * BLOCK]);
    else this.#block(index);
    return element;
  }

  #fill(element, packet) {
    if (!packet) return;
    const [number, link, line] = ["span", "a", "span"].map((name) => document.createElement(name));
    number.role = line.role = "gridcell";
    number.className = "number";
    line.className = "line";
    link.href = `#packet-${packet.number}`;
    link.tabIndex = -1;
    link.textContent = packet.number;
    number.append(link);
    line.append(...lineParts(packet.line));
    element.classList.add(LAYERS[packet.layer]);
    element.classList.toggle("failure", packet.isFailure);
    element.classList.toggle("marked", this.marked.has(packet.number));
    element.replaceChildren(number, line);
  }

  /** The packets of a block; their rows are filled when they arrive. */
  #block(index) {
    const known = this.#blocks.get(index);
    if (known) return known;
    const promise = this.#load(index * BLOCK, BLOCK);
    this.#blocks.set(index, promise);
    const version = this.#version;
    promise.then((packets) => {
      if (version !== this.#version) return;
      // It is no longer that of the promise if the list has grown.
      if (this.#blocks.get(index) === promise) this.#blocks.set(index, packets);
      // The oldest block goes.
      if (this.#blocks.size > BLOCK_LIMIT) this.#blocks.delete(this.#blocks.keys().next().value);
      packets.forEach((packet, offset) => {
        const element = this.#rows.get(index * BLOCK + offset);
        if (element && !element.firstChild) this.#fill(element, packet);
      });
      this.#highlightRows();
    });
    return promise;
  }

  #highlightRows() {
    if (!CSS.highlights) return;
    const ranges = [];
    if (this.#text) {
      for (const element of this.#rows.values()) {
        const line = element.querySelector(".line");
        if (line) ranges.push(...textRanges(line, this.#text));
      }
    }
    CSS.highlights.set("match", new Highlight(...ranges));
  }
}

/** The ranges of an element that have a text in lower case. */
function* textRanges(element, text) {
  const content = element.textContent.toLowerCase();
  for (let at = content.indexOf(text); at >= 0; at = content.indexOf(text, at + text.length)) {
    const range = new Range();
    let start = 0;
    const nodes = document.createNodeIterator(element, NodeFilter.SHOW_TEXT);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
      const end = start + node.length;
      if (at >= start && at < end) range.setStart(node, at - start);
      if (at + text.length > start && at + text.length <= end) range.setEnd(node, at + text.length - start);
      start = end;
    }
    yield range;
  }
}
