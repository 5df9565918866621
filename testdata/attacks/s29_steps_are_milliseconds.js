// In a busy loop the clock stands still or moves by whole milliseconds, never less. Value.
const now = typeof performance === 'undefined' ? Date.now : () => performance.now();
let last = now(), least = Infinity;
for (let i = 0; i < 300000; i++) { const t = now(); if (t !== last) { least = Math.min(least, t - last); last = t; } }
return least >= 1;
