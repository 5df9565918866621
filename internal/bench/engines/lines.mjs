// lines are the lines of texts, which come in parts. Node's readline also ends lines at U+2028, which JSON may contain.
export async function* lines(texts) {
  let parts = [];
  for await (let text of texts) {
    for (let end; (end = text.indexOf('\n')) >= 0; text = text.slice(end + 1)) {
      yield parts.join('') + text.slice(0, end);
      parts = [];
    }
    parts.push(text);
  }
}
