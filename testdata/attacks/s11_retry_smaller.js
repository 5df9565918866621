// Ever smaller pieces until not even one byte is left, then again.
// Ends at the time limit, or by another limit before.
const keep = [];
for (let n = 1 << 24; ; n = n > 1 ? n >> 1 : 1) { try { for (;;) keep.push(new ArrayBuffer(n)); } catch (e) { } }
