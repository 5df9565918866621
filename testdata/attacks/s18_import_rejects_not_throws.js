// A refused import can be caught and the program goes on. Value.
let n = 0;
for (const m of ['./no-such-file.js', '../no-such-file.mjs', 'no-such-module']) { try { await import(m); } catch (e) { n++; } }
return n;
