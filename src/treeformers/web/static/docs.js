// Shows the endpoints of openapi.json as a page.

import { ask } from "./api.js";
import { make } from "./elements.js";

const { paths, components } = await ask("openapi.json");
const name = (schema) => schema?.$ref?.split("/").at(-1);

function type(schema) {
  if (!schema) return "";
  if (schema.$ref) return name(schema);
  if (schema.anyOf) return schema.anyOf.map(type).join(" or ");
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.const !== undefined) return String(schema.const);
  if (schema.type === "array") return `list of ${type(schema.items)}`;
  if (schema.type === "object" && schema.additionalProperties) return `${type(schema.additionalProperties)} by name`;
  return schema.type ?? "";
}

function fields(title, schema) {
  const found = components.schemas[name(schema)];
  if (!found?.properties) return null;
  return make("table", {}, make("caption", {}, `${title}: ${name(schema)}`), make("tbody", {}, ...Object.entries(found.properties).map(([key, property]) =>
    make("tr", {}, make("th", { scope: "row" }, key), make("td", {}, type(property)), make("td", {}, property.description ?? "")))));
}

function parameters(list) {
  return list.length ? make("table", {}, make("caption", {}, "Parameters"), make("tbody", {}, ...list.map((one) =>
    make("tr", {}, make("th", { scope: "row" }, one.name), make("td", {}, `${type(one.schema)}, in the ${one.in}`), make("td", {}, one.description ?? ""))))) : null;
}

function endpoint(path, method, operation) {
  const json = (part) => part?.content?.["application/json"]?.schema;
  const responses = Object.entries(operation.responses);
  const answers = responses.filter(([status]) => status.startsWith("2"));
  const refusals = responses.filter(([status]) => !status.startsWith("2"));
  return make("article", { className: "card endpoint scroll" },
    make("h2", {}, make("code", {}, `${method.toUpperCase()} ${path}`)),
    make("p", {}, operation.description ?? ""),
    parameters(operation.parameters ?? []),
    fields("Request", json(operation.requestBody)),
    ...answers.map(([status, answer]) => fields(status === "200" ? "Answer" : `Answer ${status}`, json(answer))),
    refusals.length ? make("p", { className: "hint" }, refusals.map(([status, { description }]) => `${status}: ${description}`).join(" ")) : null);
}

const schemas = make("article", { className: "card scroll" }, make("h2", {}, "Types of answers"), ...Object.keys(components.schemas)
  .filter((key) => !/Request$|ValidationError/.test(key)).map((key) => fields("Type", { $ref: key })).filter(Boolean));
document.getElementById("endpoints").append(
  ...Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => endpoint(path, method, operation))), schemas);
