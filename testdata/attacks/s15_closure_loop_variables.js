// Loop variables captured by closures that outlive generators and async functions.
// The engine must stay sound: value.
const fs = [];
for (let i = 0; i < 1000; i++) { function* g(x) { let y = i; fs.push(() => [x, y++, i]); yield y; fs.push(() => y); throw y; } const it = g({ i }); it.next(); if (i % 2) { try { it.next(); } catch (e) { } } }
async function f(x) { let y = x; fs.push(() => y++); await null; fs.push(() => [y, x]); if (x % 3 === 0) throw x; }
await Promise.allSettled(Array.from({ length: 500 }, (_, i) => f(i)));
for (const g of fs) g();
fs.length = 0;
return 'alive';
