// The sections of the page, one after the other.
const WIDE = new Set(["table", "spans", "code", "text", "picture", "tabs"]);
const SHOWN = { table: showTable, treemap: showTreemap, bars: showBars, scatter: showScatter, area: showArea, spans: showSpans,
  code: showCode, text: showText, picture: showPicture, tabs: showTabs };
function showFacts(section, host) {
  const list = make("dl", { class: "facts" }, ...section.entries.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
  host.append(section.folded ? make("details", {}, make("summary", {}, `${section.entries.length} entries`), list) : list);
}
function showText(section, host) {
  host.append(make("pre", { tabindex: 0 }, section.text));
}
function showPicture(section, host) {
  host.append(make("img", { alt: section.about, src: `data:image/svg+xml;base64,${section.svg}` }));
}
let titles = 0;
function showSection(section, main) {
  const id = `title${titles++}`;
  const frame = make("section", { class: section.wide || (WIDE.has(section.type) && !section.narrow) ? "wide" : "", "aria-labelledby": id });
  frame.append(make("h2", { id }, section.title));
  if (section.about && section.type !== "picture") frame.append(make("p", { class: "about" }, section.about));
  const host = make("div");
  frame.append(host);
  main.append(frame);
  (SHOWN[section.type] ?? showFacts)(section, host, frame);
  if (section.note) frame.append(make("p", { class: "note" }, section.note));
  if (section.of !== undefined) {
    const hide = () => { frame.hidden = picked(section.of) < 0; };
    listeners.push((name) => { if (name === section.of) hide(); });
    hide();
  }
}
// Sections under names: those of one are shown, and made when they first are.
function showTabs(section, host, frame) {
  frame.className = "tabs wide";
  const panels = section.names.map((name, number) => make("div", { class: "grid", role: "tabpanel", id: `panel${titles}${number}`, "aria-label": name, hidden: "" }));
  const tabs = section.names.map((name, number) => make("button", {
    role: "tab", "aria-controls": panels[number].id, onclick: () => choose(number),
    onkeydown: (event) => {
      const to = { ArrowLeft: number - 1, ArrowRight: number + 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose((to + tabs.length) % tabs.length);
      tabs[(to + tabs.length) % tabs.length].focus();
    },
  }, name));
  const choose = (chosen) => tabs.forEach((tab, number) => {
    const is = number === chosen;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
    panels[number].hidden = !is;
    if (is && !panels[number].childElementCount) section.sections[number].forEach((one) => showSection(one, panels[number]));
  });
  host.append(make("div", { class: "tools", role: "tablist", "aria-label": section.title }, ...tabs), ...panels);
  choose(0);
}
const main = document.getElementById("main");
main.replaceChildren();
sections.forEach((section) => showSection(section, main));
