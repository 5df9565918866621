// A wide string that doubles and is flattened each time. Memory.
let s = '\u4e00';
for (;;) { s += s; s.charCodeAt(0); if (s.indexOf('z') > 0) break; }
