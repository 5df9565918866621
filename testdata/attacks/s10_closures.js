// Closures that each keep a frame. Memory.
const a = [];
for (let i = 0; ; i++) { const big = [i]; a.push(() => big); }
