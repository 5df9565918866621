// Out of memory rejects an async function, which is called again for ever.
// Ends at the time limit, or by another limit before.
async function f() { const a = []; for (;;) a.push(new Array(1000)); }
for (;;) await f().catch(() => {});
