// Amounts over the operations of a program, one above the other.
function showArea(section, host) {
  const series = section.series.filter(([, values]) => values.some((value) => value));
  const count = section.places.length;
  const sums = section.places.map((_, place) => series.reduce((sum, [, values]) => sum + values[place], 0));
  const most = Math.max(...sums, 1);
  chart(host, null, 240, (svg, width, height) => {
    svg.setAttribute("aria-label", `${section.title}: at most ${format(most, section.unit)}${section.mark === undefined ? "" : `, in ${section.places[section.mark]}`}`);
    const box = { left: 66, right: width - 10, top: 18, bottom: height - 20 };
    const across = (place) => box.left + (place / count) * (box.right - box.left);
    const up = (value) => box.bottom - (value / most) * (box.bottom - box.top);
    for (const value of ticks(most, 5, section.unit)) {
      svg.append(draw("line", { class: "grid", x1: box.left, x2: box.right, y1: up(value), y2: up(value) }),
        draw("text", { class: "quiet", x: box.left - 6, y: up(value) + 4, "text-anchor": "end" }, format(value, section.unit)));
    }
    const low = section.places.map(() => 0);
    series.forEach(([name, values], number) => {
      const over = [], under = [];
      values.forEach((value, place) => {
        const [x1, x2] = [across(place).toFixed(1), across(place + 1).toFixed(1)];
        under.unshift(`${x2},${up(low[place]).toFixed(1)} ${x1},${up(low[place]).toFixed(1)}`);
        low[place] += value;
        over.push(`${x1},${up(low[place]).toFixed(1)} ${x2},${up(low[place]).toFixed(1)}`);
      });
      svg.append(draw("polygon", { points: [...over, ...under].join(" "), fill: colour(name, number) }));
    });
    if (section.mark !== undefined) {
      const x = across(section.mark + 0.5);
      svg.append(draw("line", { class: "axis", x1: x, x2: x, y1: box.top - 4, y2: box.bottom }),
        draw("text", { x, y: 11, "text-anchor": x > width / 2 ? "end" : "start" }, `${format(most, section.unit)} in ${section.places[section.mark]}`));
    }
    svg.append(draw("text", { class: "quiet", x: box.left, y: height - 5 }, "first operation"),
      draw("text", { class: "quiet", x: box.right, y: height - 5, "text-anchor": "end" }, "last"));
    svg.onpointermove = (event) => {
      const at = event.clientX - svg.getBoundingClientRect().left;
      const place = Math.floor(((at - box.left) / (box.right - box.left)) * count);
      if (place < 0 || place >= count) return quiet();
      tell(event, [section.places[place], `all: ${format(sums[place], section.unit)}`,
        ...series.map(([name, values]) => `${name}: ${format(values[place], section.unit)}`)].join("\n"));
    };
    svg.onpointerleave = quiet;
  });
  host.append(legend(series.map(([name]) => name)));
}
