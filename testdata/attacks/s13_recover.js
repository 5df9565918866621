// A stack overflow is caught a hundred times and the program still computes. Value.
let n = 0;
function f() { f(); }
for (let i = 0; i < 100; i++) { try { f(); } catch (e) { n += e instanceof RangeError || e instanceof Error ? 1 : 0; } }
return n;
