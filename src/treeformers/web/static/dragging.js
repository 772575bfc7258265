// Selects words by dragging over them, with the mouse, a pen or a finger.

const EDGE = 28; // pixels: a drag so near to an edge of the box scrolls it

/** `select` is called with the first and the last word of a drag, which are leaves of the tree of a `TreeView`. */
export function dragWords(view, select) {
  const { box } = view;
  let [first, last, from] = [null, null, null];
  const end = () => { first = null; };
  box.addEventListener("pointerdown", (event) => {
    const item = event.target.closest("[data-index]");
    const node = item && view.nodes[item.dataset.index];
    [first, last] = [node?.word && event.button === 0 && !event.shiftKey ? node : null, null];
  });
  box.addEventListener("pointermove", (event) => {
    if (!first) return;
    const node = view.wordAt(event.clientX);
    if (!last && node === first) return;
    if (!last) box.setPointerCapture(event.pointerId); // from here on, this is no click
    const { left, right } = box.getBoundingClientRect();
    if (event.clientX < left + EDGE) box.scrollBy(-EDGE / 2, 0);
    if (event.clientX > right - EDGE) box.scrollBy(EDGE / 2, 0);
    if (node !== last) select(first, node);
    last = node;
  });
  // A finger that moves sideways over words selects them; otherwise it scrolls.
  box.addEventListener("touchstart", (event) => { from = event.touches[0]; }, { passive: true });
  box.addEventListener("touchmove", (event) => {
    const [to] = event.touches;
    if (first && event.cancelable && (last || Math.abs(to.clientX - from.clientX) > Math.abs(to.clientY - from.clientY))) event.preventDefault();
  }, { passive: false });
  box.addEventListener("pointerup", end);
  box.addEventListener("pointercancel", end);
}
