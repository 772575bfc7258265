// Shows the report of --report: HTML in a frame, JSON metrics as tables.

import { ask } from "./api.js";
import { make } from "./elements.js";

const DEEP = 6;

export async function showReport(panel, kind) {
  if (panel.childElementCount) return;
  if (kind === "html") {
    panel.append(make("iframe", { src: "report", title: "Report", sandbox: "allow-scripts", className: "report" }));
    return;
  }
  panel.append(make("div", { className: "card scroll metrics", tabIndex: 0, role: "region", "aria-label": "Metrics" }, metricsTable(await ask("api/report"), 0)));
}

// By decimals a small p-value would become 0.
const rounded = (number) => String(Number(Math.abs(number) < 1 ? number.toPrecision(4) : number.toFixed(4)));

function metricsTable(value, depth) {
  if (value === null || typeof value !== "object") return document.createTextNode(typeof value === "number" ? rounded(value) : String(value ?? "–"));
  if (depth > DEEP) return document.createTextNode(JSON.stringify(value));
  const entries = Object.entries(value);
  if (!entries.length) return document.createTextNode("–");
  const rows = entries.map(([, entry]) => entry);
  const flat = (entry) => entry !== null && typeof entry === "object" && !Array.isArray(entry) && Object.values(entry).every((cell) => cell === null || typeof cell !== "object");
  if (rows.length > 1 && rows.every(flat)) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    return make("table", {}, make("thead", {}, make("tr", {}, make("td", {}), ...columns.map((name) => make("th", { scope: "col" }, words(name))))),
      make("tbody", {}, ...entries.map(([name, row]) => make("tr", {}, make("th", { scope: "row" }, Array.isArray(value) ? String(Number(name) + 1) : words(name)), ...columns.map((column) => make("td", {}, metricsTable(row[column] ?? null, depth + 1)))))));
  }
  if (Array.isArray(value) && rows.every((row) => row === null || typeof row !== "object")) return document.createTextNode(rows.join(", "));
  return make("dl", { className: "lists" }, ...entries.map(([name, entry]) => make("div", {}, make("dt", {}, Array.isArray(value) ? String(Number(name) + 1) : words(name)), make("dd", {}, metricsTable(entry, depth + 1)))));
}

const words = (name) => name.replaceAll("_", " ");
