// Problems and completion of a configuration by its JSON schema, from the language service of Visual Studio Code.
import { getLanguageService, InsertTextFormat, TextDocument } from "vscode-json-languageservice";

let service;

// read parses a text. The service would load what "$schema" in the text names: it gets the schema of codemode instead.
const read = (schema, source) => {
  if (!service) {
    const text = JSON.stringify(schema); // before the service resolves the references in it
    service = getLanguageService({ schemaRequestService: async () => text });
    const schemas = [{ uri: "schema:codemode", fileMatch: ["*"], schema }];
    service.configure({ validate: true, allowComments: true, schemas });
  }
  const document = TextDocument.create("file:///codemode.json", "jsonc", 1, source);
  return { document, json: service.parseJSONDocument(document) };
};

const quiet = { comments: "ignore", trailingCommas: "ignore", schemaValidation: "error" };

export const schemaProblems = async (schema, text) => {
  if (text.trim() === "") return [];
  const { document, json } = read(schema, text);
  return (await service.doValidation(document, json, quiet)).map((p) => ({
    from: document.offsetAt(p.range.start), to: document.offsetAt(p.range.end), severity: "error", message: p.message,
  }));
};

// plain is the text of a snippet of the service, and where its first field is: \x stands for x, $1 and ${1:text} are
// fields.
const plain = (snippet) => {
  let text = "", at = -1, last = 0;
  for (const m of snippet.matchAll(/\\(.)|\$(?:\d+|\{\d+(?::((?:[^\\}]|\\.)*))?\})/gs)) {
    text += snippet.slice(last, m.index);
    last = m.index + m[0].length;
    if (m[1] !== undefined) { text += m[1]; continue; }
    if (at < 0) at = text.length;
    text += (m[2] || "").replace(/\\(.)/gs, "$1");
  }
  text += snippet.slice(last);
  return { text, at: at < 0 ? text.length : at };
};

// option makes an item of the service one of CodeMirror's. It replaces what is typed, and "past" characters behind the
// cursor.
const option = (item, past) => ({
  label: item.filterText || item.label, displayLabel: item.label,
  info: item.documentation && (item.documentation.value || item.documentation),
  apply: (view, _, from, to) => {
    const { newText } = item.textEdit;
    const { text, at } = item.insertTextFormat === InsertTextFormat.Snippet ? plain(newText) :
      { text: newText, at: newText.length };
    view.dispatch({
      changes: { from, to: Math.min(to + past, view.state.doc.length), insert: text },
      selection: { anchor: from + at }, userEvent: "input.complete", scrollIntoView: true,
    });
  },
});

// schemaCompletion offers keys and values where a person types a string or a word, and anywhere on
// Ctrl-Space.
export const schemaCompletion = (schema) => async (context) => {
  if (!context.explicit && !context.matchBefore(/["\w$]$/)) return null;
  const loaded = await schema.catch(() => null);
  if (!loaded) return null;
  const { document, json } = read(loaded, context.state.doc.toString());
  const list = await service.doComplete(document, document.positionAt(context.pos), json);
  const items = (list ? list.items : []).filter((item) => item.textEdit && item.textEdit.range);
  if (items.length === 0) return null;
  const { start, end } = items[0].textEdit.range, past = document.offsetAt(end) - context.pos;
  return { from: document.offsetAt(start), options: items.map((item) => option(item, past)), validFor: /^"?[\w$]*$/ };
};
