// What a transferred buffer grows by is zero. Value.
const b = new ArrayBuffer(1000);
new Uint8Array(b).fill(255);
const c = b.transfer(100000);
return [b.byteLength, new Uint8Array(c).subarray(1000).every(x => x === 0)];
