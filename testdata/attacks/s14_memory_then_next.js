// A guest that used all it may have. Nobody may get it again.
const a = [];
for (;;) a.push(new Uint8Array(100000).fill(0xaa));
