// Products of half-megabit numbers. The outer stop ends it.
const n = (1n << 500000n) - 1n;
let k = 0n;
for (;;) k ^= n * n;
