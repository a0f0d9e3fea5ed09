// A text for what is selected. The texts are deflated, and read when one is asked for.
function showCode(section, host, frame) {
  const text = make("pre", { tabindex: 0 });
  host.append(text);
  let texts = null;
  const show = async () => {
    const row = picked(section.table);
    frame.hidden = row < 0;
    if (row < 0) return;
    texts ??= inflated(section.deflated);
    try {
      const found = (await texts)[row];
      if (row === picked(section.table)) text.textContent = found || "nothing";
    } catch {
      text.textContent = "This browser cannot inflate texts: it has no DecompressionStream.";
    }
  };
  listeners.push((name) => { if (name === section.table) show(); });
  show();
}
async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
