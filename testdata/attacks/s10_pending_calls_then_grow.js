// Forty calls with big arguments stay open while the program uses up its memory: both count together.
// Memory.
const s = 'x'.repeat(1e6);
for (let i = 0; i < 40; i++) codemode.slow({ ms: 60000, s: s + i });
const a = [];
for (;;) a.push(new Uint8Array(1 << 16).fill(1));
