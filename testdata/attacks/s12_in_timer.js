// Out of memory in a timer callback that nobody waits for. Memory.
setTimeout(() => { const a = []; for (;;) a.push({}); }, 0);
await codemode.slow({ ms: 50 });
const b = [];
for (;;) b.push({});
