// The largest BigInt written in decimal, again and again: no poll inside. The outer stop ends it.
const n = (1n << 1000000n) - 1n;
let k = 0;
for (;;) k += n.toString().length;
