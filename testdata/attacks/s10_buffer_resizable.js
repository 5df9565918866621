// A resizable buffer that grows to a gigabyte. Memory.
const b = new ArrayBuffer(1, { maxByteLength: 2 ** 30 });
for (let n = 1; ; n *= 2) b.resize(n);
