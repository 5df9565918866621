// splice and slice whose species hands back the array itself, a frozen one, or shrinks the source.
// The engine must stay sound: value.
for (const make of [a => a, a => Object.freeze([]), a => { a.length = 0; return []; }, a => { a.length = 5; return a; }, a => new Proxy(a, {}), a => { for (let i = 0; i < 1000; i++) a.unshift(i); return []; }, () => new Uint8Array(50), () => Object.create(Array.prototype)]) {
  for (const m of ['splice', 'slice', 'concat', 'map', 'filter', 'flat', 'flatMap']) {
    const a = Array.from({ length: 100 }, (_, i) => ({ i }));
    a.constructor = { [Symbol.species]: function () { return make(a); } };
    try { m === 'splice' ? a.splice(10, 50, 1, 2, 3) : m === 'slice' ? a.slice(10, 60) : a[m](x => x); } catch (e) { }
    for (let i = 0; i < a.length && i < 200; i++) a[i];
  }
}
return 'alive';
