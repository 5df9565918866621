// Reads the notes of a week side by side, gathers what is still open in them,
// and writes it to a file. Writing needs a person's yes: refuse it, and see
// what the program makes of that.

interface Task {
  note: string;
  text: string;
}

const { entries } = await codemode.filesystem__list_directory({ path: "notes" });
const names: string[] = entries.map((entry: { name: string }) => entry.name).filter((name: string) => name.endsWith(".md"));

// All files are read at once.
const notes = await Promise.all(
  names.map((name) => codemode.filesystem__read_text_file({ path: `notes/${name}` })),
);

const open: Task[] = notes.flatMap((note: { content: string }, i: number) =>
  note.content
    .split("\n")
    .filter((line) => line.startsWith("- [ ]"))
    .map((line) => ({ note: names[i], text: line.slice(5).trim() })),
);

const now = await codemode.time__now({});
const report = [`# Open on ${now.date}`, "", ...open.map((task) => `- ${task.text} (${task.note})`), ""].join("\n");

let saved: string;
try {
  await codemode.filesystem__write_file({ path: "open.md", content: report });
  saved = "open.md";
} catch (error) {
  if (!(error instanceof ToolCallDeniedError)) throw error;
  saved = `nowhere: ${error.reason}`;
}

return { notes: names.length, open: open.map((task) => task.text), saved };
