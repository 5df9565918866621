// A thousand views of one buffer, resized and detached; each view must know its end.
// The engine must stay sound: value.
const b = new ArrayBuffer(1000, { maxByteLength: 2000 });
const views = [];
for (let i = 0; i < 1000; i++) views.push(i % 2 ? new Uint8Array(b, i) : new Uint8Array(b, i, 1000 - i));
for (const n of [0, 1, 500, 999, 1000, 2000, 3, 1000]) {
  b.resize(n);
  for (const v of views) { if (v.length && v[v.length - 1] !== 0) throw new Error('not zero'); v[v.length] = 1; v[1999] = 1; }
}
b.transfer(0);
for (const v of views) if (v.length !== 0) throw new Error('still there');
return 'alive';
