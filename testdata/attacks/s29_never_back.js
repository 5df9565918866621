// The clocks never go back, across calls and timers. Value.
let a = Date.now(), b = performance.now(), ok = true;
for (let i = 0; i < 100; i++) { await codemode.echo(i); const c = Date.now(), d = performance.now(); ok = ok && c >= a && d >= b; a = c; b = d; }
return ok;
