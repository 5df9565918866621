// What a buffer grows by is zero, also where it has been before. Value.
const b = new ArrayBuffer(1000, { maxByteLength: 1 << 20 });
new Uint8Array(b).fill(255);
b.resize(10); b.resize(1 << 20);
return new Uint8Array(b).subarray(10).every(x => x === 0);
