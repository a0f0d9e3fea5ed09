// The data of the page, what is selected, and elements.
const sections = JSON.parse(document.getElementById("data").textContent);
const inner = (one) => one.type === "tabs" ? one.sections.flat().flatMap(inner) : [one];
const tables = new Map(sections.flatMap(inner).filter((one) => one.type === "table").map((one) => [one.name, one]));
for (const table of tables.values()) {
  table.byName = new Map(table.columns.map((column) => [column.name, column]));
  table.rows = table.columns.length ? table.columns[0].values.length : 0;
}
const selected = new Map();
const listeners = [];
// Row `row` of a table is selected; -1 is none. All that shows the table hears of it.
function select(table, row) {
  if (selected.get(table) === row) row = -1;
  selected.set(table, row);
  for (const listener of listeners) listener(table, row);
}
const picked = (table) => selected.get(table) ?? -1;
const column = (table, name) => tables.get(table).byName.get(name);

function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
