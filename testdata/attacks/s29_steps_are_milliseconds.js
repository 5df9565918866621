// In a busy loop the clock stands still or moves by whole milliseconds, never less. Value.
let last = performance.now(), least = Infinity;
for (let i = 0; i < 300000; i++) { const t = performance.now(); if (t !== last) { least = Math.min(least, t - last); last = t; } }
return least >= 1;
