// Thousands of buffers that reserve a gigabyte each but use a byte. Memory.
const a = [];
for (let i = 0; i < 1e7; i++) a.push(new ArrayBuffer(1, { maxByteLength: 2 ** 30 }));
return a.length;
