// What charts share: a drawing as wide as its place, colours by word, axes, and a remark at the pointer.
const COLOURS = 8;
const KNOWN = { forward: 0, dX: 1, dW: 2, "dX+dW": 3, update: 4, communication: 5, matrix: 0, vector: 2, data: 3, comm: 5, wait: 6,
  compute: 2, dram: 1, latency: 4, edge: 3, network: 5, weights: 0, gradients: 2, optimizer: 4, activations: 1, buffers: 6, slower: 5, faster: 2 };
const colour = (word, number = 0) => `var(--c${KNOWN[word] ?? number % COLOURS})`;
function legend(words, title = "") {
  return make("div", { class: "legend" }, ...(title ? [make("b", {}, title)] : []), ...words.map((word, number) => make("span", { style: `--c:${colour(word, number)}` }, word)));
}
// A drawing that is made anew when its width or what is selected changes.
function chart(host, table, height, paint) {
  const svg = draw("svg", { role: "img" });
  host.append(svg);
  let width = 0;
  const again = () => {
    if (!width) return;
    const high = typeof height === "function" ? height(width) : height;
    svg.setAttribute("viewBox", `0 0 ${width} ${high}`);
    svg.setAttribute("height", high);
    svg.replaceChildren();
    paint(svg, width, high);
  };
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now && now !== width) { width = now; again(); }
  }).observe(host);
  listeners.push((name) => { if (name === table) again(); });
  return { svg, again };
}
const tip = make("div", { class: "tip", hidden: "" });
document.body.append(tip);
function tell(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? Math.max(4, event.clientY - height - 10) : event.clientY + 18}px`;
}
const quiet = () => { tip.hidden = true; };
// An element of a chart that stands for a row: it says what it is, and selects the row.
function item(element, table, row, text) {
  const selects = row >= 0; // what is of no row tells what it is, and that is all
  if (selects) element.classList.add("item");
  if (selects && row === picked(table)) element.classList.add("picked");
  element.addEventListener("pointermove", (event) => tell(event, text()));
  element.addEventListener("pointerleave", quiet);
  if (selects) element.addEventListener("click", () => { quiet(); select(table, row); });
  return element;
}
// What a remark says of a row: its label and some columns.
function remark(table, row, label, names) {
  const lines = names.map((name) => column(table, name)).filter((one) => one && one.values[row] !== null && one.values[row] !== undefined);
  return [column(table, label).values[row], ...lines.map((one) => `${one.title}: ${format(one.values[row], one.unit ?? "text")}`)].join("\n");
}
// Round numbers from 0 to at least `most`, at most `count` of them.
function ticks(most, count, unit) {
  const base = unit === "bytes" ? 2 : 10;
  let step = base ** Math.floor(Math.log(most / count) / Math.log(base));
  for (const factor of base === 2 ? [1, 2, 4] : [1, 2, 5, 10]) if (most / (step * factor) <= count) { step *= factor; break; }
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, number) => number * step);
}
function clip(text, width) {
  const letters = Math.floor(width / 6.6);
  return text.length <= letters ? text : letters < 3 ? "" : text.slice(0, letters - 1) + "…";
}
