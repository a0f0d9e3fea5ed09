// Tables: sorted by a column, filtered by words, with the columns that a reader chooses.
const FIRST_ROWS = 100;
const FEW_ROWS = 8;
function showTable(table, host) {
  const view = { by: null, down: true, words: [], every: false, columns: new Set() };
  for (const one of table.columns) if (one.shown !== false) view.columns.add(one.name);
  // a bar behind amounts that can be compared and differ
  const most = new Map(table.columns.map((one) => {
    const alike = !one.scale ? [one] : table.columns.filter((other) => other.scale === one.scale);
    const sizes = ["text", "ratio", "number"].includes(one.unit ?? "text") ? [] : alike.flatMap((other) => other.values).filter((value) => value !== null).map(Math.abs);
    const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
    return [one.name, sizes.some((size) => size < largest) ? largest : 0];
  }));
  const count = make("span", { class: "about", "aria-live": "polite" });
  const head = make("tr");
  const body = make("tbody");
  const more = make("button", { onclick: () => { view.every = true; show(); } });
  const find = make("input", {
    type: "search", placeholder: "Filter: words, column:word, column>number", "aria-label": `Filter ${table.title}`,
    oninput: () => { view.words = wordsOf(find.value); show(); },
  });
  const choice = make("details", { class: "columns" }, make("summary", {}, "Columns"), make("div", {},
    ...table.columns.map((one) => make("label", { title: one.about }, make("input", {
      type: "checkbox", ...(view.columns.has(one.name) ? { checked: "" } : {}),
      onchange: (event) => { view.columns[event.target.checked ? "add" : "delete"](one.name); heads(); show(); },
    }), " ", one.title))));
  // Of the rows of what is selected those columns are shown that say something.
  const shown = () => table.columns.filter((one) => view.columns.has(one.name)
    && (table.of === undefined || picked(table.of) < 0 || one.values.some((value, row) => value && table.owner[row] === picked(table.of))));
  function rows() {
    const owner = table.of === undefined ? -1 : picked(table.of);
    let found = [];
    for (let row = 0; row < table.rows; row++) {
      if (owner >= 0 && table.owner[row] !== owner) continue;
      if (view.words.every((word) => matches(table, row, word))) found.push(row);
    }
    if (view.by !== null) {
      const values = table.byName.get(view.by).values;
      found.sort((a, b) => compare(values[a], values[b], view.down) || a - b);
    }
    return found;
  }
  function heads() {
    head.replaceChildren(...shown().map((one) => {
      const here = view.by === one.name;
      return make("th", {
        scope: "col", class: isText(one) ? "text" : "", "aria-sort": here ? (view.down ? "descending" : "ascending") : "none",
      }, make("button", { title: one.about, "data-column": one.name, onclick: () => {
        view.down = here ? !view.down : !isText(one);
        view.by = one.name;
        heads();
        show();
        head.querySelector(`[data-column="${CSS.escape(one.name)}"]`).focus();
      } }, one.title + (here ? (view.down ? " ▾" : " ▴") : "")));
    }));
  }
  function show() {
    const found = rows();
    const kept = view.every ? found : found.slice(0, FIRST_ROWS);
    const columns = shown();
    body.replaceChildren(...kept.map((row) => make("tr", { "data-row": row },
      ...columns.map((one) => cell(one, row, most.get(one.name))))));
    mark();
    const wrong = notUnderstood(table, view.words);
    count.textContent = `${found.length.toLocaleString("en-US")} of ${table.rows.toLocaleString("en-US")} rows`
      + (wrong.length ? `; not understood: ${wrong.join(" ")}` : "");
    more.hidden = kept.length === found.length;
    more.textContent = `Show all ${found.length.toLocaleString("en-US")}`;
  }
  // The row that is selected, and the one that the keyboard enters.
  function mark() {
    const here = String(picked(table.name));
    const there = body.querySelector(`[data-row="${here}"]`) ?? body.firstChild;
    for (const row of body.children) {
      row.setAttribute("aria-selected", row.dataset.row === here ? "true" : "false");
      row.tabIndex = row === there ? 0 : -1;
    }
  }
  // A row that is selected in a chart comes into view, also where it is not among the first.
  function reveal() {
    const here = picked(table.name);
    if (here >= 0 && !view.every && !body.querySelector(`[data-row="${here}"]`)) { view.every = true; show(); }
    mark();
    const row = body.querySelector('[aria-selected="true"]');
    if (!row) return;
    const box = frame.getBoundingClientRect(), place = row.getBoundingClientRect();
    if (place.top < box.top + 30 || place.bottom > box.bottom) frame.scrollTop += place.top - box.top - box.height / 2;
  }
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (row) { select(table.name, Number(row.dataset.row)); row.focus(); }
  });
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    const next = { ArrowDown: row.nextSibling, ArrowUp: row.previousSibling, Home: body.firstChild, End: body.lastChild }[event.key];
    if (next) { next.focus(); event.preventDefault(); }
    if (event.key === "Enter" || event.key === " ") {
      select(table.name, Number(row.dataset.row));
      event.preventDefault();
    }
  });
  listeners.push((name) => {
    if (name === table.name) reveal();
    if (name !== table.of) return;
    heads();
    show();
  });
  choice.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !choice.open) return;
    choice.open = false;
    choice.firstChild.focus();
  });
  const tools = table.rows > FEW_ROWS ? [find, choice, count, more] : [];
  const frame = make("div", { class: "scroll" }, make("table", { role: "grid", "aria-label": table.title }, make("thead", {}, head), body));
  host.append(make("div", { class: "tools" }, ...tools), frame);
  heads();
  show();
}
const isText = (column) => (column.unit ?? "text") === "text";
function cell(column, row, most) {
  const value = column.values[row];
  const text = format(value, column.unit ?? "text");
  if (isText(column)) return make("td", { class: text.length > 44 ? "text long" : "text", title: text }, text);
  const part = most && value ? Math.abs(value) / most : 0;
  return make("td", part > 0.004 ? { class: "amount", style: `--part:${(100 * part).toFixed(1)}%` } : {}, text);
}
function compare(a, b, down) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
  return down ? -order : order;
}
// A word of a filter: text of any column, `column:text` of one, or `column>number`, also >=, <, <= and =.
function matches(table, row, word) {
  const { asked, sign, text } = comparison(table, word) ?? {};
  if (!asked) return table.columns.some((one) => isText(one) && String(one.values[row] ?? "").toLowerCase().includes(word));
  const value = asked.values[row], shown = format(value, asked.unit ?? "text").toLowerCase();
  if (sign === ":" || isText(asked)) return shown.includes(text);
  if (value === null || value === undefined) return false;
  const limit = number(text);
  if (sign === "=") return value === limit || shown.replace(/\s/g, "") === text;
  return { ">": value > limit, ">=": value >= limit, "<": value < limit, "<=": value <= limit }[sign];
}
// The column, the sign and the text of such a word; null of a plain one.
function comparison(table, word) {
  const found = /^([^:<>=]+)([<>]=|[:<>=])(.+)$/.exec(word);
  const asked = found && table.columns.find((one) => [one.name, one.title].some((name) => name.toLowerCase().replace(/\s/g, "") === found[1]));
  return asked ? { asked, sign: found[2], text: found[3] } : null;
}
// The words of a filter: those around a sign are one.
const wordsOf = (text) => text.toLowerCase().replace(/\s*([<>]=|[<>=])\s*/g, "$1").split(/\s+/).filter(Boolean);
// What of a filter is no number where one is compared, for a remark.
function notUnderstood(table, words) {
  return words.filter((word) => {
    const { asked, sign, text } = comparison(table, word) ?? {};
    return asked && sign !== ":" && !isText(asked) && Number.isNaN(number(text));
  });
}
const DECIMAL = { kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };
// A number with a unit: 1.5ms, 4MiB, 4MB, 2e9, 30%; NaN of anything else.
function number(text) {
  const found = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(.*)$/.exec(text.replaceAll(",", ""));
  if (!found) return NaN;
  const name = found[2].replace(/^us$/, "µs").replace(/^x$/, "");
  if (name === "%") return Number(found[1]) / 100;
  const size = name === "" ? 1 : DECIMAL[name] ?? Object.values(UNITS).flat().find((one) => one[1] && one[1].toLowerCase() === name)?.[0];
  return Number(found[1]) * (size ?? NaN);
}
