// An interval that stops itself leaves nothing that keeps the run alive. Value.
let n = 0;
await new Promise(r => { const id = setInterval(() => { if (++n === 5) { clearInterval(id); r(); } }, 1); });
return n;
