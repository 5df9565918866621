// A refused import can be caught and the program goes on. Value.
let n = 0;
for (const m of ['std', 'os', 'fs', './x.js']) { try { await import(m); } catch (e) { n++; } }
return n;
