// The list of all sentences, a page at a time.

import { ask } from "./api.js";
import { choice, listed, make } from "./elements.js";

const SIZE = 20;
const STATES = { all: "", pending: "pending", begun: "begun", accepted: "accepted", validation: "validation" };

export class SentenceList {
  /** `open` is called with the number of a sentence that is clicked. */
  constructor(box, open, complain) {
    [this.box, this.open, this.complain] = [box, open, complain];
    [this.state, this.offset, this.current] = ["", 0, null];
    const [label] = choice("State", Object.keys(STATES), (name) => {
      [this.state, this.offset] = [STATES[name], 0];
      this.#load();
    });
    this.back = make("button", { type: "button", onclick: () => this.#turn(-SIZE) }, "‹ Earlier");
    this.on = make("button", { type: "button", onclick: () => this.#turn(SIZE) }, "Later ›");
    this.list = make("ul", { className: "listed" });
    box.append(make("div", { className: "bar" }, label, this.back, this.on), this.list);
    box.addEventListener("toggle", () => { if (box.open) this.#load(); });
  }

  /** Mark the sentence that is shown. */
  mark(id) {
    this.current = id;
    if (this.box.open) this.#load();
  }

  #turn(by) {
    this.offset += by;
    this.#load();
  }

  async #load() {
    const state = this.state && `&state=${this.state}`;
    try {
      const found = await ask(`api/sentences?offset=${this.offset}&limit=${SIZE + 1}${state}`);
      this.back.disabled = this.offset === 0;
      this.on.disabled = found.length <= SIZE;
      this.list.replaceChildren(...found.slice(0, SIZE).map((one) =>
        listed(one, [one.state, one.validation && "validation"], one.id === this.current, () => this.open(one.id))));
      if (!found.length) this.list.replaceChildren(make("li", { className: "hint" }, "No sentence."));
    } catch (error) {
      this.complain(error);
    }
  }
}
