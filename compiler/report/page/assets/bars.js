// A bar for each row, of parts in one unit; the longest first, as many as can be read.
const MOST_BARS = 24;
function showBars(section, host) {
  const parts = section.parts.map((name) => column(section.table, name)).filter((one) => one.values.some((value) => value));
  const labels = column(section.table, section.label).values;
  const totals = labels.map((_, row) => parts.reduce((sum, one) => sum + (one.values[row] ?? 0), 0));
  const order = totals.map((_, row) => row).filter((row) => totals[row] > 0).sort((a, b) => totals[b] - totals[a]);
  const rows = order.slice(0, MOST_BARS);
  const whole = totals.reduce((sum, one) => sum + one, 0);
  const most = totals[rows[0]] ?? 0;
  chart(host, section.table, 18 * rows.length + 8, (svg, width) => {
    svg.setAttribute("aria-label", `${section.title}: the same numbers are in the table`);
    const left = Math.min(190, width * 0.36), right = 92;
    rows.forEach((row, number) => {
      const y = 4 + 18 * number;
      svg.append(draw("text", { x: left - 6, y: y + 12, "text-anchor": "end" }, clip(String(labels[row]), left - 8)));
      let x = left;
      for (const part of parts) {
        const w = ((part.values[row] ?? 0) / most) * (width - left - right);
        if (w <= 0) continue;
        svg.append(item(draw("rect", { x, y, width: w, height: 14, fill: colour(part.title, parts.indexOf(part)) }), section.table, row,
          () => `${labels[row]}\n${part.title}: ${format(part.values[row], part.unit)}`));
        x += w;
      }
      svg.append(draw("text", { x: x + 5, y: y + 12, class: "quiet" }, `${format(totals[row], parts[0].unit)} ${format(totals[row] / whole, "share")}`));
    });
  });
  host.append(legend(parts.map((one) => one.title)));
  if (order.length > rows.length) host.append(make("p", { class: "note" }, `the ${rows.length} longest of ${order.length.toLocaleString("en-US")}`));
}
