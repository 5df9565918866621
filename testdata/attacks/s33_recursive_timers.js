// Timers that start the next one count no faster than the clock, whatever time they ask for. Value.
const start = Date.now();
let n = 0;
while (Date.now() - start < 60 && n < 20000) { n++; await new Promise(r => setTimeout(r, n % 2 ? 0.01 : -1)); }
return n <= 2 * (Date.now() - start) + 2;
