// TextEncoder output kept. Memory.
const a = [], s = '\u4e00'.repeat(1e5), t = new TextEncoder();
for (;;) a.push(t.encode(s));
