// The clock shows whole milliseconds in every way of asking. Value.
const now = typeof performance === 'undefined' ? Date.now : () => performance.now();
const odd = [];
for (let i = 0; i < 2000; i++) { const a = Date.now(), b = now(), c = new Date().getTime(); if (a % 1 || b % 1 || c % 1) odd.push([a, b, c]); }
return odd.length;
