// Shows an inducer layer by layer: tree, prior and attention.

import { ask, asker } from "./api.js";
import { choice, make, slider } from "./elements.js";
import { HeatMap } from "./heatmap.js";
import { TreeView, readBrackets } from "./trees.js";

export class LayersView {
  constructor(panel, models, say, complain) {
    Object.assign(this, { panel, say, model: models[0], answers: new Map(), latest: asker() });
    const [model, select] = choice("Inducer", models, (name) => {
      complain(null);
      this.model = name;
      this.load().catch((error) => {
        this.model = select.value = this.shown; // the layers of this model are still there
        complain(error);
      });
    });
    const [layer, showLayer] = slider("Layer", (value) => this.draw(value - 1));
    this.showLayer = showLayer;
    this.detail = make("p", { className: "detail" }, "");
    this.tree = new TreeView({ name: "Tree of the layer", over: (node) => this.#overNode(node) });
    this.prior = new HeatMap("Prior: probability that two words share a constituent", (row, column) => this.#overCell(row, column));
    this.attention = new HeatMap("Attention, mean of the heads", (row, column) => this.#overCell(row, column));
    this.content = make("div", {},
      make("div", { className: "card" }, this.detail, this.tree.frame),
      make("div", { className: "cards" }, this.prior.figure, this.attention.figure));
    panel.replaceChildren(make("div", { className: "bar" }, models.length > 1 ? model : null, layer), this.content);
  }

  async show(words) {
    this.words = words;
    await this.load();
  }

  async load() {
    const { model, words, answers } = this;
    const key = `${model} ${words.join(" ")}`;
    await this.latest(async () => {
      if (!answers.has(key)) {
        this.say(`Loading the layers of ${model} …`);
        const answer = await ask("api/layers", { model, words });
        if (answers.size > 8) answers.clear();
        answers.set(key, answer);
      }
      return answers.get(key);
    }, (answer) => this.#show(model, answer));
  }

  #show(model, answer) {
    [this.shown, this.answer] = [model, answer];
    this.most = Math.max(...answer.layers.flatMap((layer) => layer.attention.map((row) => Math.max(...row))));
    this.draw(Math.min(this.number ?? answer.layers.length - 1, answer.layers.length - 1));
    this.say("");
  }

  draw(number) {
    this.number = number;
    const layer = this.answer.layers[number];
    this.showLayer(number + 1, this.answer.layers.length);
    this.tree.show(readBrackets(layer.tree), { links: layer.links });
    this.prior.show(layer.prior, this.answer.words, 10000);
    this.attention.show(layer.attention, this.answer.words, this.most);
    this.detail.textContent = "Bars under the words are the links of this layer; the tree splits at the weakest ones.";
  }

  #overNode(node) {
    this.tree.light(node?.start ?? 0, node?.end ?? 0);
    for (const map of [this.prior, this.attention]) {
      map.light(null, null);
      map.span(node?.start ?? 0, node?.end ?? 0);
    }
    if (node) this.detail.textContent = this.tree.describe(node);
  }

  #overCell(row, column) {
    this.prior.light(row, column);
    this.attention.light(row, column);
    for (const [word, element] of this.tree.words) element.classList.toggle("lit", word === row || word === column);
  }
}
