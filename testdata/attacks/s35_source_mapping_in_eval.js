// Code from text with a source map and a name of its own: the stack is text, and nothing is opened. Value.
const names = ['/etc/passwd', 'node:internal/process', 'http://127.0.0.1:9/x.js', '../../../etc/hostname', 'x\u0000y', 'a'.repeat(100000)];
let texts = 0;
for (const name of names) {
  try { (0, eval)('throw new Error("from text")\n//# sourceMappingURL=' + name + '.map\n//# sourceURL=' + name); } catch (e) {
    const s = e.stack;
    if (s === undefined || typeof s === 'string' && !/root:x?:/.test(s)) texts++;
  }
}
return texts;
