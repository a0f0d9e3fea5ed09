// Points below lines, on logarithmic axes or plain ones.
function showScatter(section, host) {
  const [x, y] = [column(section.table, section.x), column(section.table, section.y)];
  const size = section.size ? column(section.table, section.size) : null;
  const kinds = section.colour ? column(section.table, section.colour) : null;
  const log = section.logarithmic !== false;
  const fits = (value) => value !== null && value !== undefined && (!log || value > 0);
  const rows = x.values.map((_, row) => row).filter((row) => fits(x.values[row]) && fits(y.values[row]));
  const kind = (row) => String(kinds?.values[row] ?? "other");
  const words = kinds ? [...new Set(rows.map(kind))] : [];
  const largest = size ? Math.max(...rows.map((row) => size.values[row] ?? 0)) : 0;
  const lines = section.lines ?? [];
  chart(host, section.table, (width) => Math.min(440, Math.max(280, width * 0.55)), (svg, width, height) => {
    svg.setAttribute("aria-label", `${section.title}: the same numbers are in the table`);
    const box = { left: 62, right: width - 14, top: 12, bottom: height - 42 };
    const across = scale(rows.map((row) => x.values[row]), lines.flatMap((one) => one.x), log, box.left, box.right, 70, x.unit);
    const up = scale(rows.map((row) => y.values[row]), lines.flatMap((one) => one.y), log, box.bottom, box.top, 45, y.unit);
    for (const value of across.ticks) {
      svg.append(draw("line", { class: "grid", x1: across(value), x2: across(value), y1: box.top, y2: box.bottom }),
        draw("text", { class: "quiet", x: across(value), y: box.bottom + 15, "text-anchor": "middle" }, format(value, x.unit)));
    }
    for (const value of up.ticks) {
      svg.append(draw("line", { class: "grid", x1: box.left, x2: box.right, y1: up(value), y2: up(value) }),
        draw("text", { class: "quiet", x: box.left - 6, y: up(value) + 4, "text-anchor": "end" }, format(value, y.unit)));
    }
    svg.append(draw("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, x.title),
      draw("text", { x: box.left, y: 9, class: "quiet" }, y.title));
    lines.forEach((line) => {
      const points = line.x.map((value, number) => [across(value), up(line.y[number])]);
      svg.append(draw("polyline", { class: "line", points: points.map((one) => one.join()).join(" ") }),
        draw("text", { class: "quiet", x: Math.min(points.at(-1)[0], box.right) - 4, y: points.at(-1)[1] - 5, "text-anchor": "end" }, line.label));
    });
    const order = size ? [...rows].sort((a, b) => (size.values[b] ?? 0) - (size.values[a] ?? 0)) : rows;
    for (const row of order) {
      const r = size && largest ? 3 + 13 * Math.sqrt((size.values[row] ?? 0) / largest) : 5;
      const word = kinds ? kind(row) : "";
      svg.append(item(draw("circle", {
        cx: across(x.values[row]), cy: up(y.values[row]), r, fill: colour(word, words.indexOf(word)), "fill-opacity": 0.65, stroke: "var(--paper)",
      }), section.table, row, () => remark(section.table, row, section.label, [section.x, section.y, section.size, section.colour].filter(Boolean))));
    }
  });
  if (words.length > 1) host.append(legend(words, kinds.title));
}
// From values to places, with ticks that fit, `apart` pixels from each other: round ones, powers of the base where logarithmic.
function scale(values, others, log, from, to, apart, unit) {
  const all = [...values, ...others].filter((value) => Number.isFinite(value));
  let [low, high] = [Math.min(...all), Math.max(...all)];
  const count = Math.max(2, Math.floor(Math.abs(to - from) / apart));
  if (!log) {
    low = Math.min(0, low);
    const found = (value) => from + ((value - low) / (high - low || 1)) * (to - from);
    found.ticks = ticks(high || 1, count, unit).filter((value) => value <= high);
    return found;
  }
  const rim = Math.max(0.01, 0.05 * Math.log10(high / low));
  const [first, last] = [Math.log10(low) - rim, Math.log10(high) + rim];
  const found = (value) => from + ((Math.log10(value) - first) / (last - first || 1)) * (to - from);
  const fitting = (few) => few.filter((value) => Math.log10(value) >= first && Math.log10(value) <= last);
  found.ticks = fitting(powers(first, last, count, unit));
  // within less than a power there are few of them: any round ones
  const [least, most] = [10 ** first, 10 ** last];
  if (found.ticks.length < 3) found.ticks = fitting(ticks(most, Math.floor((count * most) / (most - least)), unit));
  while (found.ticks.length > count) found.ticks = found.ticks.filter((_, number) => number % 2 === 0);
  return found;
}
function powers(first, last, count, unit) {
  const base = unit === "bytes" ? 2 : 10, wide = Math.log10(base);
  const step = Math.max(1, Math.ceil((last - first) / wide / count));
  const choices = base === 2 ? [[1, 1.5], [1]] : [[1, 1.5, 2, 3, 4, 5, 7], [1, 2, 5], [1]];
  const factors = choices.find((one) => ((last - first) / wide) * one.length <= count + 1) ?? [1];
  const found = [];
  for (let power = Math.floor(first / wide / step) * step; power * wide <= last; power += step) found.push(...factors.map((one) => one * base ** power));
  return found;
}
