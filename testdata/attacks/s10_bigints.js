// BigInts of a hundred kilobits. Memory.
const a = [];
for (let i = 0n; ; i++) a.push((1n << 100000n) + i);
