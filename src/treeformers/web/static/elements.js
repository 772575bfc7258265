// Making elements. Text goes in as text nodes only, so that markup in words is shown as it stands.

export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function svg(name, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

let numbers = 0;

export function choice(label, names, onchange) {
  const id = `choice-${(numbers += 1)}`;
  const select = make("select", { id, onchange: () => onchange(select.value) });
  for (const name of names) select.append(make("option", { value: name }, name));
  return [make("label", { htmlFor: id, className: "inline" }, label, select), select];
}

export function slider(label, onchange) {
  const id = `slider-${(numbers += 1)}`;
  const input = make("input", { type: "range", id, min: 1, max: 1, step: 1, value: 1 });
  const output = make("output", { htmlFor: id });
  input.addEventListener("input", () => onchange(Number(input.value)));
  const show = (value, most) => {
    input.max = most;
    input.value = value;
    output.textContent = `${value} of ${most}`;
    input.setAttribute("aria-valuetext", output.textContent);
  };
  return [make("label", { htmlFor: id, className: "inline wide" }, label, input, output), show];
}

/** Small and large shares to a tenth: what is not quite 100 % is not called so. */
export const percent = (share) => `${(share > 0.99 ? Math.floor(1000 * share) / 10 : 100 * share).toFixed(share < 0.0995 || share > 0.99 ? 1 : 0)} %`;
