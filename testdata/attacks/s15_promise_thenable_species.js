// Promise methods whose constructor, species, resolve and then are replaced half-way.
// The engine must stay sound: value.
for (const m of ['all', 'allSettled', 'any', 'race']) {
  class P extends Promise { static get [Symbol.species]() { return class { constructor(f) { f(() => { }, () => { }); f(1, 2); } }; } static resolve(x) { P.resolve = () => ({ then(a, b) { a(1); a(2); b(3); throw 4; } }); return super.resolve(x); } }
  try { P[m]([1, 2, { then(a, b) { a(1); b(2); a(3); } }, P.reject(1)]).then(() => { }, () => { }); } catch (e) { }
  try { Promise[m].call(function (f) { f(() => { throw 1; }, () => { throw 2; }); }, [1, 2, 3]); } catch (e) { }
  try { Promise[m].call(function (f) { f(x => x, x => x); return {}; }, { [Symbol.iterator]() { return { next: () => ({ done: true }) }; } }); } catch (e) { }
}
await null; await null;
return 'alive';
