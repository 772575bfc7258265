// The class of a sentence, and the attention of the classifier on the nodes of its tree.

import { ask } from "./api.js";
import { choice, make, percent } from "./elements.js";
import { TreeView, readBrackets } from "./trees.js";

const MAX_CLASSES = 5;

export class ClassesView {
  constructor(panel, models, say) {
    Object.assign(this, { panel, say, model: models[0], source: null });
    [this.chooser] = choice("Classifier", models, (name) => {
      this.model = name;
      this.load();
    });
    this.models = models;
  }

  async show(trees) {
    this.trees = trees;
    const names = Object.keys(trees);
    if (!names.includes(this.source)) this.source = names[0];
    const [over, select] = choice("on the tree of", names, (name) => {
      this.source = name;
      this.load();
    });
    select.value = this.source;
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
    this.say(`Asking ${this.model} …`);
    const brackets = this.trees[this.source].brackets;
    const { classes: [found] } = await ask("api/classify", { model: this.model, trees: [brackets] });
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
