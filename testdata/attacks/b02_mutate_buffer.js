// A typed array in the arguments whose buffer is changed and detached afterwards. Value.
const b = new Uint8Array([1, 2, 3]);
const p = codemode.echo({ b });
b.fill(9);
b.buffer.transfer && b.buffer.transfer();
const r = await p;
return JSON.stringify(Object.values(r.b));
