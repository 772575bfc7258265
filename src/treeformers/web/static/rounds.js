// Rounds: starts the training of a parser, follows its progress, and draws the curve of F1.

import { ask } from "./api.js";
import { counted, make, svg } from "./elements.js";

const PAUSE = 2000; // milliseconds between two questions
const [WIDE, HIGH, LEFT, BELOW] = [420, 180, 40, 28];

export class Rounds {
  /** `ended` is called when a round has ended. */
  constructor(box, complain, ended) {
    [this.box, this.complain, this.ended, this.running] = [box, complain, ended, false];
    this.start = make("button", { type: "button", className: "primary", onclick: () => this.#begin() }, "Train on the accepted trees");
    this.progress = make("span", { role: "status" });
    this.figures = make("div");
    box.append(make("div", { className: "bar" }, this.start, this.progress), this.figures);
    box.addEventListener("toggle", () => { if (box.open) this.#load(); });
  }

  async #begin() {
    this.complain(null);
    this.start.disabled = true;
    try {
      await ask("api/rounds", {});
      this.running = true;
    } catch (error) {
      this.complain(error);
    }
    await this.#load();
  }

  async #load() {
    clearTimeout(this.timer);
    try {
      const { running, problem, rounds } = await ask("api/rounds");
      const last = rounds.at(-1);
      this.start.disabled = running;
      this.progress.textContent = running ? `Round ${last?.state === "running" ? last.id : rounds.length + 1}: ${last?.state === "running" ? last.progress : "starting"}` : problem;
      this.#show(rounds);
      if (this.running && !running) this.ended();
      this.running = running;
      if (running) this.timer = setTimeout(() => this.#load(), PAUSE);
    } catch (error) {
      this.complain(error);
      if (this.running) this.timer = setTimeout(() => this.#load(), PAUSE);
    }
  }

  #show(rounds) {
    if (!rounds.length) {
      this.figures.replaceChildren(make("p", { className: "hint" }, "A parser learns from the accepted trees outside the held-out set, is scored on those inside, and proposes trees for the pending sentences. Edits go on meanwhile."));
      return;
    }
    const figure = (value) => (value === null ? "–" : value.toFixed(1));
    const heads = ["Round", "Trees", "F1", "Exact match", "Tags", "Held-out trees", "State"];
    const rows = rounds.map((one) => make("tr", {}, make("th", { scope: "row" }, String(one.id)), ...[one.model ? String(one.trees) : "–", figure(one.f1), figure(one.exact_match), figure(one.tagging_accuracy), one.model ? String(one.held_out) : "–", one.state === "finished" ? "finished" : `${one.state}: ${one.progress}`].map((text) => make("td", {}, text))));
    const table = make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Rounds" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, ...rows)));
    const scored = rounds.filter((one) => one.model && one.f1 !== null);
    this.figures.replaceChildren(...(scored.length ? [curve(scored)] : []), table);
  }
}

/** F1 on the held-out set against the number of trees. */
function curve(rounds) {
  const most = Math.max(...rounds.map((one) => one.trees));
  const x = (trees) => LEFT + ((WIDE - LEFT - 20) * trees) / most;
  const y = (f1) => HIGH - BELOW - ((HIGH - BELOW - 10) * f1) / 100;
  const said = rounds.map((one) => `${counted(one.trees, "tree")}: F1 ${one.f1.toFixed(1)}`).join("; ");
  const drawing = svg("svg", { class: "curve", width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said });
  for (const f1 of [0, 50, 100]) {
    drawing.append(svg("line", { class: "axis", x1: LEFT, x2: WIDE - 10, y1: y(f1), y2: y(f1) }), svg("text", { x: LEFT - 6, y: y(f1) + 4, "text-anchor": "end" }, f1));
  }
  drawing.append(svg("text", { x: LEFT, y: HIGH - 6 }, "F1 on the held-out set"), svg("text", { x: x(most), y: HIGH - 6, "text-anchor": "end" }, counted(most, "accepted tree")));
  const line = [...rounds].sort((a, b) => a.trees - b.trees);
  drawing.append(svg("path", { d: `M${line.map((one) => `${x(one.trees)} ${y(one.f1)}`).join("L")}` }));
  for (const one of line) {
    const point = svg("circle", { cx: x(one.trees), cy: y(one.f1), r: 4 });
    point.append(svg("title", {}, `${counted(one.trees, "tree")}: F1 ${one.f1.toFixed(1)}`));
    drawing.append(point);
  }
  return drawing;
}
