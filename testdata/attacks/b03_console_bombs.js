// The console is given the largest, deepest and oddest of everything: bounded in time and text. Value.
let e = new Error('0');
for (let i = 0; i < 5000; i++) e = new Error('n', { cause: e });
let deep = {};
for (let i = 0; i < 20000; i++) deep = { deep };
const wide = {};
for (let i = 0; i < 20000; i++) wide['k' + i] = i;
const sparse = [1];
sparse[4294967290] = 2;
const named = () => 1;
Object.defineProperty(named, 'name', { value: 'n'.repeat(1e6) });
const things = [e, deep, wide, sparse, named, 'x'.repeat(1e6), new Uint8Array(1e6), new Map(Array.from({ length: 5000 }, (_, i) => [i, { i }])), new Set(Array.from({ length: 5000 }, (_, i) => i)),
  new Array(1e5).fill([[[[[[1]]]]]]), 1n << 900000n, new RegExp('a'.repeat(1e5)), new Date(NaN), new Proxy(wide, {}), Object.create(wide), new AggregateError(new Array(5000).fill(new Error('x')), 'a'), [[[[[[[[[[]]]]]]]]]], new WeakMap(), Promise.resolve(deep), Symbol('s'.repeat(1e6)), function () { /* */ }, class A extends Array { }, Object.assign([1, 2], wide)];
for (const t of things) console.log(t, { t });
return things.length;
