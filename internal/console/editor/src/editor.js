// The editor of configuration files: CodeMirror on each text area with data-editor. The text area stays the field of
// the form: whatever changes in the editor is written into it, and without this script a person types into it.
//
// The page's Content-Security-Policy forbids two things of CodeMirror. It would write a <style> into the document; in a
// shadow root it makes style sheets instead. And its own theme has pictures (data: URLs), which the theme below
// replaces.
import {
  autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import {
  bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting,
} from "@codemirror/language";
import { linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { search, searchKeymap } from "@codemirror/search";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { jsonc } from "./jsonc.js";
import { schemaCompletion, schemaProblems } from "./schema.js";

const theme = EditorView.theme({
  "&": {
    color: "var(--ink)", backgroundColor: "var(--card)", border: "1px solid var(--faint)", borderRadius: "6px",
  },
  "&.cm-focused": { outline: "3px solid var(--focus)", outlineOffset: "2px" },
  ".cm-scroller": {
    minHeight: "27rem", maxHeight: "max(27rem, 75vh)", overflow: "auto",
    font: ".88rem/1.5 ui-monospace, 'Cascadia Mono', 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace",
  },
  ".cm-content": { caretColor: "var(--ink)", minWidth: "0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": {
    minHeight: "100%", color: "var(--faint)", backgroundColor: "var(--sunk)", borderRight: "1px solid var(--line)",
  },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--line)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--low-soft)", outline: "1px solid var(--low)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--high-soft)" },
  ".cm-specialChar": { color: "var(--high)", fontWeight: "700" },
  ".cm-searchMatch": { backgroundColor: "var(--medium-soft)", outline: "1px solid var(--medium)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--asks-soft)" },
  ".cm-panels, .cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--card)", borderColor: "var(--line)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search, .cm-panel.cm-search *": { fontSize: ".85rem" },
  ".cm-textfield": { color: "var(--ink)", backgroundColor: "var(--card)", border: "1px solid var(--faint)" },
  ".cm-button": {
    color: "var(--ink)", backgroundImage: "none", backgroundColor: "var(--sunk)", border: "1px solid var(--faint)",
  },
  ".cm-panel button[name=close]": { color: "var(--ink)" },
  ".cm-tooltip": { maxWidth: "min(36rem, 90vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxHeight: "16rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".2rem .5rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--card)", backgroundColor: "var(--link)" },
  ".cm-lintRange-error, .cm-lintRange-warning, .cm-lintRange-info, .cm-lintRange-hint": {
    backgroundImage: "none", textDecoration: "underline wavy var(--high)", textDecorationSkipInk: "none",
  },
  ".cm-lintRange-active": { backgroundColor: "var(--high-soft)" },
  ".cm-lintPoint:after": { borderBottomColor: "var(--high)" },
  ".cm-lint-marker": { height: "auto", width: "auto", color: "var(--high)" },
  ".cm-lint-marker-error, .cm-lint-marker-warning, .cm-lint-marker-info": { content: "normal" },
  ".cm-lint-marker:before": { content: "'●'" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", overflowWrap: "anywhere" },
  ".cm-diagnostic-error, .cm-diagnostic-warning": { borderLeftColor: "var(--high)" },
  ".cm-diagnosticSource": { opacity: "1", color: "var(--faint)" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { backgroundColor: "var(--high-soft)" },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--link)" },
  { tag: tags.string, color: "var(--low)" },
  { tag: [tags.number, tags.atom], color: "var(--medium)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);

// answered are the problems that the server found in this text, which are in data-problems: each with its line and
// column, which count from 1 and in code points, its length and its message.
const answered = (doc, json) => JSON.parse(json || "[]").map((p) => {
  const line = doc.line(Math.min(Math.max(p.line, 1), doc.lines)), points = [...line.text];
  const at = (n) => line.from + points.slice(0, Math.max(n, 0)).join("").length;
  const from = at(p.column - 1), to = at(p.column - 1 + p.length);
  return { from, to, severity: "error", source: "the server", message: p.message };
});

// keeps moves what the server found along with its text, and drops it where a person changes that text.
const keeps = (found, changes) => found.filter((p) => !changes.touchesRange(p.from, p.to)).map(
  (p) => ({ ...p, from: changes.mapPos(p.from, 1), to: changes.mapPos(p.to, 1) }));

// typesOver replaces selected text by what a person types. Chromium would do it with a style attribute for the colour
// of the text that goes, and complain of the page's policy.
const typesOver = (event, view) => {
  const { from, to, empty } = view.state.selection.main, text = event.data;
  if (event.inputType !== "insertText" || !text || empty || event.isComposing) return false;
  const how = { userEvent: "input.type", scrollIntoView: true };
  const typed = () => view.state.update(view.state.replaceSelection(text), how);
  const handled = view.state.facet(EditorView.inputHandler).some((handles) => handles(view, from, to, text, typed));
  if (!handled) view.dispatch(typed());
  return true;
};

// unitOf is what the text indents by: a tab, or its first indentation.
const unitOf = (text) => (/\n([ \t]+)\S/.exec(text) || [0, "  "])[1].replace(/^\t.*/s, "\t");

const edit = (area, schema) => {
  const host = document.createElement("div");
  host.className = "editor";
  area.before(host);
  area.hidden = true;
  const root = host.attachShadow({ mode: "open", delegatesFocus: true });
  // The page has keys of one letter, and sees only the host as the target of a key.
  host.addEventListener("keydown", (event) => event.stopPropagation());
  const label = area.labels[0];
  if (label) label.addEventListener("click", () => view.focus());
  let found = [];
  const view = new EditorView({
    parent: root,
    doc: area.value,
    extensions: [
      jsonc, indentUnit.of(unitOf(area.value)), indentOnInput(), bracketMatching(), closeBrackets(), history(),
      search({ top: true }), lineNumbers(), highlightSpecialChars(), drawSelection(), EditorView.lineWrapping, theme,
      syntaxHighlighting(colours),
      EditorView.contentAttributes.of({ "aria-label": label ? label.textContent : "Text", autocapitalize: "off" }),
      // Tab has no binding, so that it leaves the editor.
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap,
        ...lintKeymap]),
      autocompletion({ override: [schemaCompletion(schema)], icons: false }), lintGutter(),
      EditorView.domEventHandlers({ beforeinput: typesOver }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        area.value = update.state.doc.toString();
        found = keeps(found, update.changes);
      }),
      linter(async (view) => {
        const text = view.state.doc.toString();
        const problems = await schema.then((loaded) => schemaProblems(loaded, text), () => []);
        return [...found, ...problems];
      }, { delay: 250 }),
    ],
  });
  found = answered(view.state.doc, area.dataset.problems);
  if (found.length === 0) return;
  const first = found[0].from;
  view.dispatch({ selection: { anchor: first }, effects: EditorView.scrollIntoView(first, { y: "center" }) });
};

const areas = document.querySelectorAll("textarea[data-editor]");
if (areas.length > 0) {
  const schema = fetch(document.body.dataset.home + "/static/schema.json").then((answer) => {
    if (!answer.ok) throw new Error("the schema of the configuration: status " + answer.status);
    return answer.json();
  });
  schema.catch((err) => console.warn(err)); // the editor works without it
  for (const area of areas) edit(area, schema);
}
