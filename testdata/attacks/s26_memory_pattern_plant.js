// A pattern in forty megabytes of memory: planted here. The next run must not see it.
globalThis.keep = [];
for (let i = 0; i < 40; i++) keep.push(new Uint8Array(1 << 20).fill(0x5a));
return keep.length;
