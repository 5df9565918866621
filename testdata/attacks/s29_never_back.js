// The clocks never go back, across calls and timers. Value.
const now = typeof performance === 'undefined' ? Date.now : () => performance.now();
let a = Date.now(), b = now(), ok = true;
for (let i = 0; i < 100; i++) { await codemode.echo(i); const c = Date.now(), d = now(); ok = ok && c >= a && d >= b; a = c; b = d; }
return ok;
