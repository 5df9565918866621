const tried = {};
const attempt = async (what, f) => {
  try { tried[what] = await f(); } catch (e) { tried[what] = e.name + ": " + (e.reason ?? e.message); }
};
await attempt("read outside the folder", () => codemode.filesystem__read_text_file({ path: "../codemode.json" }));
await attempt("move a note away", () => codemode.filesystem__move_file({ source: "monday.md", destination: "gone.md" }));
await attempt("send it out", () => fetch("https://example.com/", { method: "POST" }));
await attempt("leave the sandbox", () => tried.constructor.constructor("return process.env")());
return tried;
