// A timeline: spans on tracks, with a window of time that is moved and zoomed by buttons, keys, wheel and pointer.
function showSpans(section, host) {
  const end = section.begin.reduce((most, begin, number) => Math.max(most, begin + section.length[number]), 1);
  const window_ = { from: 0, to: end };
  const high = 24, top = 22;
  const move = (from, to) => {
    const length = Math.min(end, Math.max(to - from, Math.min(end, 10)));
    window_.from = Math.max(0, Math.min(from, end - length));
    window_.to = window_.from + length;
    picture.again();
  };
  const zoom = (factor, at = (window_.from + window_.to) / 2) => move(at - (at - window_.from) * factor, at + (window_.to - at) * factor);
  const pan = (part) => move(window_.from + part * (window_.to - window_.from), window_.to + part * (window_.to - window_.from));
  const whole = () => move(0, end);
  const button = (text, label, onclick) => make("button", { "aria-label": label, title: label, onclick }, text);
  host.append(make("div", { class: "tools" }, button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
    button("◂", "Earlier", () => pan(-0.25)), button("▸", "Later", () => pan(0.25)), button("whole", "The whole step", whole)));
  const picture = chart(host, section.table, top + high * section.tracks.length + 6, (svg, width) => {
    const left = Math.min(120, width * 0.3);
    const across = (time) => left + ((time - window_.from) / (window_.to - window_.from)) * (width - left);
    svg.setAttribute("aria-label", `${section.title}, from ${format(window_.from * 1e-9, "seconds")} to ${format(window_.to * 1e-9, "seconds")}`);
    const length = window_.to - window_.from;
    for (const time of ticks(length, Math.max(2, Math.floor((width - left) / 90)))) {
      const x = across(window_.from + time);
      if (x > width - 30) continue;
      svg.append(draw("line", { class: "grid", x1: x, x2: x, y1: 16, y2: top + high * section.tracks.length }),
        draw("text", { class: "quiet", x: x + 3, y: 11 }, "+" + format(time * 1e-9, "seconds")));
    }
    if (window_.from > 0) svg.append(draw("text", { class: "quiet", x: 0, y: 11 }, format(window_.from * 1e-9, "seconds")));
    section.tracks.forEach((name, track) => svg.append(draw("text", { x: 0, y: top + high * track + 15 }, clip(name, left))));
    const drawn = section.tracks.map(() => -1);
    section.begin.forEach((begin, number) => {
      const last = begin + section.length[number];
      if (last < window_.from || begin > window_.to) return;
      const [x1, x2] = [Math.max(left, across(begin)), Math.min(width, across(last))];
      const track = section.track[number];
      if (x2 - x1 < 0.7 && x2 < drawn[track]) return; // within a pixel that has one
      drawn[track] = Math.max(drawn[track], x1 + 0.7);
      const [name, kind, row] = [section.names[section.name[number]], section.kinds[section.kind[number]], section.row[number]];
      const y = top + high * track;
      const rect = draw("rect", { x: x1, y, width: Math.max(0.7, x2 - x1 - 0.3), height: high - 5, fill: colour(kind) });
      if (kind === "wait") rect.setAttribute("fill-opacity", 0.35);
      const text = () => `${name}\n${section.tracks[track]}: ${format(section.length[number] * 1e-9, "seconds")} from ${format(begin * 1e-9, "seconds")}`;
      svg.append(item(rect, section.table, row, text));
      if (x2 - x1 > 40) svg.append(draw("text", { class: "inside", x: x1 + 4, y: y + 14 }, clip(name, x2 - x1 - 8)));
    });
  });
  const svg = picture.svg;
  svg.setAttribute("tabindex", 0);
  svg.setAttribute("role", "application");
  svg.addEventListener("keydown", (event) => {
    const act = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: whole, ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25) }[event.key];
    if (act) { act(); event.preventDefault(); }
  });
  const time = (event) => {
    const box = svg.getBoundingClientRect(), left = Math.min(120, box.width * 0.3);
    return window_.from + ((event.clientX - box.left - left) / (box.width - left)) * (window_.to - window_.from);
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) pan(event.deltaX / 800);
    else if (event.ctrlKey || event.shiftKey) zoom(event.deltaY > 0 || event.deltaX > 0 ? 1.25 : 0.8, time(event));
    else return;
    event.preventDefault();
  }, { passive: false });
  let held = null;
  svg.addEventListener("pointerdown", (event) => { held = { x: event.clientX, from: window_.from, to: window_.to, moved: false }; });
  svg.addEventListener("pointermove", (event) => {
    if (!held || !event.buttons) return;
    const by = ((held.x - event.clientX) / (svg.getBoundingClientRect().width * 0.8)) * (held.to - held.from);
    if (Math.abs(held.x - event.clientX) > 3) { quiet(); held.moved = true; move(held.from + by, held.to + by); }
  });
  svg.addEventListener("click", (event) => { if (held?.moved) event.stopPropagation(); held = null; }, true);
  host.append(legend([...new Set(section.kinds)]));
  host.append(make("p", { class: "note" }, "Ctrl or shift with the wheel zooms, dragging moves; keys + − 0 ← →."));
}
