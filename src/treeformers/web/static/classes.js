// The class of a sentence, and where the classifier's attention lies on its tree.

import { ask } from "./api.js";
import { choice, make, percent } from "./elements.js";
import { TreeView, readBrackets } from "./trees.js";

const LISTED = 5;

export class ClassesView {
  constructor(panel, engines, say) {
    Object.assign(this, { panel, say, engine: engines[0], source: null });
    [this.chooser] = choice("Classifier", engines, (name) => {
      this.engine = name;
      this.load();
    });
    this.engines = engines;
  }

  async show(trees) {
    this.trees = trees;
    const names = Object.keys(trees);
    if (!names.includes(this.source)) this.source = names[0];
    const [over, select] = choice("over the tree of", names, (name) => {
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
      make("div", { className: "card" }, this.classes, this.detail, this.view.box));
    await this.load();
  }

  async load() {
    this.say(`Asking ${this.engine} …`);
    const brackets = this.trees[this.source].brackets;
    const { classes: [found] } = await ask("api/classify", { engine: this.engine, trees: [brackets] });
    const rows = Object.entries(found.probabilities).sort((a, b) => b[1] - a[1]).slice(0, LISTED);
    this.classes.replaceChildren(...rows.map(([label, share], i) => {
      const bar = make("span", { className: "meter" }, make("i", {}));
      bar.firstChild.style.width = `${100 * share}%`;
      return make("p", {}, make("small", {}, i ? "" : "class"), make("code", {}, label), bar, make("span", { className: "number" }, percent(share)));
    }));
    this.view.show(readBrackets(brackets), { shares: found.shares });
    this.detail.textContent = found.shares ? "The stronger its shade, the more attention a node gets." : "This encoder has no attention over the tree.";
    this.say("");
  }
}
