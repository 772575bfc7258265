// The class of a sentence, and the attention of the classifier on the nodes of its tree.

import { ask, asker } from "./api.js";
import { choice, make, percent } from "./elements.js";
import { TreeView, readBrackets } from "./trees.js";

const MAX_CLASSES = 5;

export class ClassesView {
  constructor(panel, models, say, complain) {
    Object.assign(this, { panel, say, complain, model: models[0], source: null, latest: asker() });
    [this.chooser, this.classifier] = choice("Classifier", models, (name) => this.#choose({ model: name }));
  }

  async show(trees) {
    this.trees = trees;
    const names = Object.keys(trees);
    if (!names.includes(this.source)) this.source = names[0];
    const [over, select] = choice("on the tree of", names, (name) => this.#choose({ source: name }));
    select.value = this.source;
    this.over = select;
    this.detail = make("p", { className: "detail" }, "");
    this.classes = make("div", { className: "actions", "aria-live": "polite" });
    this.view = new TreeView({
      name: "Attention on the tree",
      over: (node, view) => {
        if (node) this.detail.textContent = view.describe(node);
        view.light(node?.start ?? 0, node?.end ?? 0);
      },
    });
    this.panel.replaceChildren(
      make("div", { className: "bar" }, this.chooser, over),
      make("div", { className: "card" }, this.classes, this.detail, this.view.frame));
    await this.load();
  }

  async load() {
    const { model, source } = this;
    const brackets = this.trees[source].brackets;
    this.say(`Asking ${model} …`);
    await this.latest(() => ask("api/classify", { model, trees: [brackets] }), ({ classes: [found] }) => {
      this.shown = { model, source };
      this.#show(brackets, found);
    });
  }

  #choose(chosen) {
    this.complain(null);
    Object.assign(this, chosen);
    this.load().catch((error) => {
      Object.assign(this, this.shown); // the answer for these is still there
      [this.classifier.value, this.over.value] = [this.model, this.source];
      this.complain(error);
    });
  }

  #show(brackets, found) {
    const rows = Object.entries(found.probabilities).sort((a, b) => b[1] - a[1]).slice(0, MAX_CLASSES);
    this.classes.replaceChildren(...rows.map(([label, probability], i) => {
      const bar = make("span", { className: "meter" }, make("i", {}));
      bar.firstChild.style.width = `${100 * probability}%`;
      return make("p", {}, make("small", {}, i ? "" : "class"), make("code", {}, label), bar, make("span", { className: "number" }, percent(probability)));
    }));
    this.view.show(readBrackets(brackets), { attention: found.attention });
    this.detail.textContent = found.attention ? "A darker node gets more attention." : "This encoder has no attention over the tree.";
    this.say("");
  }
}
