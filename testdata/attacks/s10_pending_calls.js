// Calls that are queued and never awaited, with big arguments.
// Error: there is no memory to hold them all.
const s = 'x'.repeat(1e6);
for (let i = 0; i < 900; i++) codemode.slow({ ms: 60000, s: s + i });
await new Promise(() => {});
