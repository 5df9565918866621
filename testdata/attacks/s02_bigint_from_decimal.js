// 300,000 digits read as a BigInt, again and again: quadratic without a poll. The outer stop ends it.
const t = '9'.repeat(300000);
let k = 0n;
for (;;) k ^= BigInt(t);
