// JSON with comments and trailing commas, for colours, indentation and the keys that comment lines out.
import { StreamLanguage } from "@codemirror/language";

const closing = /^\s*[}\]]/;

export const jsonc = StreamLanguage.define({
  name: "jsonc",
  languageData: {
    commentTokens: { line: "//", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["{", "[", '"'] },
  },
  startState: () => ({ depth: 0, comment: false }),
  token: (stream, state) => {
    if (state.comment || stream.match("/*")) {
      state.comment = !stream.match(/^.*?\*\//);
      if (state.comment) stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) { stream.skipToEnd(); return "comment"; }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return stream.match(/^\s*:/, false) ? "propertyName" : "string";
    if (stream.match(/^-?\d[\d.eE+-]*/)) return "number";
    if (stream.match(/^(?:true|false|null)\b/)) return "atom";
    const c = stream.next();
    if (c === "{" || c === "[") state.depth++;
    if (c === "}" || c === "]") state.depth = Math.max(0, state.depth - 1);
    return /[{}[\]]/.test(c) ? "bracket" : null;
  },
  indent: (state, after, context) => (state.depth - (closing.test(after) ? 1 : 0)) * context.unit,
});
