// Intervals that are cleared while their own function runs, before and after an await, run no more. Value.
let sync = 0, later = 0;
const a = setInterval(() => { if (++sync === 3) clearInterval(a); }, 1);
const b = setInterval(async () => { await null; if (++later === 2) clearInterval(b); }, 5);
const c = setTimeout(() => clearTimeout(c), 1);
await new Promise(r => setTimeout(r, 60));
return [sync, later];
