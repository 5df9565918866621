// The stack ends inside thirty natives, at every depth in turn; afterwards they still work. Value.
const natives = [
  () => [3, 1, 2].sort(), () => 'a-b'.split('-'), () => /(a|b)*c/.exec('ababc'), () => JSON.stringify({ a: [1, { b: 2 }] }),
  () => JSON.parse('[[[[1]]]]'), () => [...'abc'], () => new Map([[1, 2]]), () => Object.assign({}, { a: 1 }),
  () => new Error('x').stack, () => Array.from({ length: 3 }), () => `${[1, [2]]}`, () => 'x'.normalize(), () => new Date().toISOString(),
  () => Promise.resolve({ then() { } }), () => new Proxy({}, {}).x, () => (2n ** 100n).toString(), () => eval('1'), () => structuredClone([1]),
  () => 'aXb'.replace(/x/i, y => y), () => [[1, [2]]].flat(3), () => Reflect.construct(Date, []), () => new Uint8Array([3, 1, 2]).sort(),
  () => encodeURIComponent('\u4e00'), () => Object.entries({ a: 1 }), () => (function* () { yield 1; })().next(), () => new (class A extends Array { })(3),
];
const depth = (n, f) => n === 0 ? f() : depth(n - 1, f);
let max = 0;
try { (function f() { max++; f(); })(); } catch (e) { }
for (const f of natives) for (let n = Math.max(0, max - 24); n < max; n += 3) { try { depth(n, f); } catch (e) { } }
return natives.slice(0, 6).map(f => JSON.stringify(f())).join();
