// ArrayBuffer.prototype.slice whose species or arguments detach, shrink or give back itself.
// The engine must stay sound: value.
for (const how of [b => b.transfer(0), b => b.resize(8), b => b.resize(0), b => b.resize(4096)]) {
  for (const make of [n => new ArrayBuffer(n), (n, b) => b, n => { const x = new ArrayBuffer(n); x.transfer(0); return x; }, n => new ArrayBuffer(n, { maxByteLength: n + 1 }), () => ({}), n => new ArrayBuffer(0)]) {
    const b = new ArrayBuffer(1024, { maxByteLength: 4096 });
    b.constructor = { [Symbol.species]: function (n) { how(b); return make(n, b); } };
    try { b.slice(10, 1000); } catch (e) { }
    const c = new ArrayBuffer(1024, { maxByteLength: 4096 });
    try { c.slice({ valueOf() { how(c); return 500; } }, 1000); } catch (e) { }
    try { c.slice(0, { valueOf() { how(c); return 1000; } }); } catch (e) { }
    try { c.transfer({ valueOf() { how(c); return 2000; } }); } catch (e) { }
    try { c.resize({ valueOf() { c.transfer(); return 2000; } }); } catch (e) { }
  }
}
return 'alive';
