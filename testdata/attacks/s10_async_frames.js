// Async functions that are suspended for ever. Memory.
const p = new Promise(() => {});
async function f() { const x = new Array(10); await p; return x; }
for (;;) f();
