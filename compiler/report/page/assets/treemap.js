// Rectangles in rectangles: layers in blocks, as large as a measure (squarified: Bruls, Huizing, van Wijk, 2000).
function showTreemap(section, host) {
  const labels = column(section.table, section.label).values;
  const kinds = column(section.table, section.colour).values;
  let measure = section.measures[0];
  const buttons = section.measures.map((name) => make("button", {
    "aria-pressed": name === measure ? "true" : "false",
    onclick: () => {
      measure = name;
      buttons.forEach((one, number) => one.setAttribute("aria-pressed", section.measures[number] === name ? "true" : "false"));
      picture.again();
    },
  }, column(section.table, name).title));
  host.append(make("div", { class: "tools", role: "group", "aria-label": "Area" }, ...buttons));
  const words = [...new Set(kinds.map((one) => one ?? "other"))];
  const picture = chart(host, section.table, (width) => Math.min(460, Math.max(260, width * 0.5)), (svg, width, height) => {
    const { title, unit, values } = column(section.table, measure);
    svg.setAttribute("aria-label", `${section.title} by ${title}: the same numbers are in the table`);
    const root = { children: new Map(), rows: [], size: 0 };
    values.forEach((value, row) => {
      if (!value || value < 0) return;
      let node = root;
      node.size += value;
      for (const part of String(labels[row]).split(".").slice(0, -1)) {
        if (!node.children.has(part)) node.children.set(part, { children: new Map(), rows: [], size: 0, name: part });
        node = node.children.get(part);
        node.size += value;
      }
      node.rows.push({ row, size: value });
    });
    const whole = root.size;
    if (!whole) svg.append(draw("text", { x: 8, y: 20, class: "quiet" }, "not modelled"));
    place(root, 0, 0, width, height, 0);
    function place(node, x, y, w, h, depth) {
      const parts = [...node.children.values(), ...node.rows].sort((a, b) => b.size - a.size);
      for (const [part, px, py, pw, ph] of squarified(parts, x, y, w, h)) {
        if (part.row === undefined) group(part, px, py, pw, ph, depth);
        else leaf(part, px, py, pw, ph);
      }
    }
    function group(node, x, y, w, h, depth) {
      const head = w > 40 && h > 34 && depth < 3 ? 15 : 0;
      if (head) svg.append(draw("text", { x: x + 4, y: y + 12, class: "quiet" }, clip(`${node.name} ${format(node.size / whole, "share")}`, w - 8)));
      const rim = w > 12 && h > 12 ? 1 : 0;
      place(node, x + rim, y + head, w - 2 * rim, h - head - rim, depth + 1);
    }
    function leaf({ row, size }, x, y, w, h) {
      const kind = kinds[row] ?? "other";
      svg.append(item(draw("rect", {
        x, y, width: Math.max(0.5, w - 1), height: Math.max(0.5, h - 1), rx: 2, fill: colour(kind, words.indexOf(kind)),
      }), section.table, row, () => `${labels[row]}\n${title}: ${format(size, unit)} (${format(size / whole, "share")})\n${kind}`));
      const name = String(labels[row]).split(".").at(-1);
      if (w > 34 && h > 16) svg.append(draw("text", { x: x + 4, y: y + 13, class: "inside" }, clip(name, w - 8)));
      if (w > 50 && h > 32) svg.append(draw("text", { x: x + 4, y: y + 27, class: "inside" }, clip(format(size, unit), w - 8)));
    }
  });
  host.append(legend(words));
}
// Parts with their places: x, y, width, height.
function squarified(parts, x, y, w, h) {
  const found = [];
  const scale = (w * h) / parts.reduce((sum, one) => sum + one.size, 0);
  let from = 0;
  while (from < parts.length) {
    const side = Math.min(w, h);
    let end = from, sum = 0, worst = Infinity;
    while (end < parts.length) {
      const next = sum + parts[end].size * scale;
      const ratio = Math.max((side * side * parts[from].size * scale) / next ** 2, next ** 2 / (side * side * parts[end].size * scale));
      if (ratio > worst) break;
      [worst, sum] = [ratio, next];
      end++;
    }
    const deep = side ? sum / side : 0;
    let along = 0;
    for (const part of parts.slice(from, end)) {
      const length = deep ? (part.size * scale) / deep : 0;
      found.push(w >= h ? [part, x, y + along, deep, length] : [part, x + along, y, length, deep]);
      along += length;
    }
    if (w >= h) { x += deep; w -= deep; } else { y += deep; h -= deep; }
    from = Math.max(end, from + 1);
  }
  return found;
}
