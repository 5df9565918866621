const { entries } = await codemode.filesystem__list_directory({ path: "." });
const notes = await Promise.all(entries.map(e => codemode.filesystem__read_text_file({ path: e.name })));
const lines = notes.flatMap(n => n.content.split("\n"));
await Promise.all([
  codemode.filesystem__write_file({ path: "open.md", content: lines.filter(l => l.startsWith("- [ ]")).join("\n") }),
  codemode.filesystem__write_file({ path: "done.md", content: lines.filter(l => l.startsWith("- [x]")).join("\n") }),
]);
return "sorted " + lines.filter(l => l.startsWith("- ")).length + " lines";
