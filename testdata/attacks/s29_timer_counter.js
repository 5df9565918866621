// Timers of 0 ms between two readings cannot make a finer clock than a millisecond. Value.
const now = typeof performance === 'undefined' ? Date.now : () => performance.now();
const steps = new Set();
let last = now();
for (let i = 0; i < 50; i++) { await new Promise(r => setTimeout(r, 0)); const t = now(); steps.add((t - last) % 1); last = t; }
return [...steps];
