// Timers that are set and cleared by the ten thousand, by wrong ids too. Value.
let n = 0;
for (let i = 0; i < 20000; i++) clearTimeout(setTimeout(() => { n++; }, 0));
for (const id of [NaN, -1, 1e300, null, undefined, {}, 'x', { valueOf() { throw 1; } }, Symbol.iterator]) { try { clearTimeout(id); clearInterval(id); } catch (e) { } }
await codemode.slow({ ms: 20 });
return n;
