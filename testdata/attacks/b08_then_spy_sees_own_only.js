// A replaced then sees the program's own promises, never internal ones with other values. Value.
const seen = [];
const T = Promise.prototype.then;
Promise.prototype.then = function (a, b) { seen.push(this); return T.call(this, a, b); };
await codemode.echo(1);
await codemode.slow({ ms: 1 });
Promise.prototype.then = T;
let odd = 0;
for (const p of seen) { if (!(p instanceof Promise)) odd++; }
return odd;
