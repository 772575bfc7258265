// A matrix over words. A canvas shows the cells, an overlay the words and the selected cell.

import { make, svg } from "./elements.js";
import { plain } from "./trees.js";

const SCALE = 10000;

export class HeatMap {
  /** @param {(row: number|null, column: number|null) => void} over called with the selected cell */
  constructor(title, over) {
    this.title = title;
    this.over = over;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.caption = make("p", { className: "detail" }, "");
    this.frame = make("div", { className: "heat", tabIndex: 0, role: "group" }, this.canvas);
    this.figure = make("figure", { className: "card" }, make("figcaption", {}, title), this.caption, this.frame);
    this.frame.addEventListener("pointermove", (event) => this.#point(event));
    this.frame.addEventListener("pointerdown", (event) => this.#point(event));
    this.frame.addEventListener("pointerleave", () => this.over(null, null));
    this.frame.addEventListener("keydown", (event) => this.#key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rows && this.show(this.rows, this.words, this.most));
  }

  show(rows, words, most) {
    Object.assign(this, { rows, words, most });
    const count = words.length;
    this.cell = count <= 11 ? 26 : count <= 18 ? 20 : count <= 48 ? 15 : count <= 110 ? 10 : 6;
    const font = Math.max(9, Math.min(13, this.cell - 2));
    this.sparse = this.cell < 10 ? 10 : 1; // label only every tenth word
    const names = words.map((word) => (plain(word).length > 14 ? `${plain(word).slice(0, 13)}…` : plain(word)));
    this.margin = Math.ceil(Math.max(...names.map((name) => name.length)) * font * 0.6) + 12;
    const side = this.cell * count;
    this.#paint(side);
    this.frame.querySelector("svg")?.remove();
    const size = this.margin + side + 2;
    this.names = names.map((name, i) => {
      const middle = this.margin + (i + 0.5) * this.cell;
      const hidden = i % this.sparse ? " rare" : "";
      const row = svg("text", { class: `name end${hidden}`, x: this.margin - 6, y: middle + font * 0.35, "font-size": font }, name);
      const column = svg("text", { class: `name${hidden}`, transform: `translate(${middle + font * 0.35} ${this.margin - 6}) rotate(-90)`, "font-size": font }, name);
      return [row, column];
    });
    this.cross = [svg("rect", { class: "cross-row", visibility: "hidden" }), svg("rect", { class: "cross-row", visibility: "hidden" })];
    const overlay = svg("svg", { width: size, height: size, "aria-hidden": "true" });
    overlay.append(...this.names.flat(), ...this.cross);
    this.frame.append(overlay);
    this.frame.setAttribute("aria-label", `${this.title}: ${count} by ${count} words; move from cell to cell with the arrow keys`);
    this.light(null, null);
  }

  #paint(side) {
    const ratio = Math.min(2, devicePixelRatio || 1, 4000 / side);
    this.canvas.width = this.canvas.height = Math.round(side * ratio);
    Object.assign(this.canvas.style, { left: `${this.margin}px`, top: `${this.margin}px`, width: `${side}px`, height: `${side}px` });
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    pen.scale(ratio, ratio);
    pen.fillStyle = style.getPropertyValue("--ground");
    pen.fillRect(0, 0, side, side);
    pen.fillStyle = style.getPropertyValue("--agree");
    this.rows.forEach((row, i) => row.forEach((value, j) => {
      if (value <= 0) return;
      pen.globalAlpha = Math.min(1, value / this.most);
      pen.fillRect(j * this.cell, i * this.cell, this.cell, this.cell);
    }));
  }

  /** Highlight a row, a column and their words. */
  light(row, column) {
    const [first, second] = this.cross;
    const [count, { cell, margin }] = [this.words.length, this];
    const there = row !== null && column !== null;
    for (const one of this.cross) one.setAttribute("visibility", there ? "visible" : "hidden");
    this.names.forEach(([left, above], i) => {
      left.classList.toggle("lit", there && i === row);
      above.classList.toggle("lit", there && i === column);
    });
    this.at = there ? [row, column] : null;
    this.caption.textContent = there
      ? `${plain(this.words[row])} → ${plain(this.words[column])}: ${(this.rows[row][column] / SCALE).toFixed(3)}`
      : "Row: the word that attends. Column: the word attended to.";
    if (!there) return;
    const set = (element, values) => Object.entries(values).forEach(([key, value]) => element.setAttribute(key, value));
    set(first, { x: margin, y: margin + row * cell, width: count * cell, height: cell });
    set(second, { x: margin + column * cell, y: margin, width: cell, height: count * cell });
  }

  /** Highlight the words of a span. */
  span(start, end) {
    this.names.forEach((pair, i) => pair.forEach((name) => name.classList.toggle("lit", i >= start && i < end)));
  }

  #point(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / this.cell);
    const column = Math.floor((event.clientX - box.left) / this.cell);
    const inside = [row, column].every((place) => place >= 0 && place < this.words.length);
    this.over(inside ? row : null, inside ? column : null);
  }

  #key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const [row, column] = this.at ?? [0, 0];
    const most = this.words.length - 1;
    const next = (place, by) => Math.max(0, Math.min(most, place + by));
    this.over(next(row, this.at ? move[0] : 0), next(column, this.at ? move[1] : 0));
  }
}
