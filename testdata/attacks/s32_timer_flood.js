// Twenty thousand timers that fire at once. Value.
let n = 0;
await new Promise(r => { for (let i = 0; i < 20000; i++) setTimeout(() => { if (++n === 20000) r(); }, i % 7); });
return n;
