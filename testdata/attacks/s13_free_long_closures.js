// Closures, bound functions, promises and generators chained by the thousand, then dropped. Value.
for (let round = 0; round < 2; round++) {
  let a = () => 0, b = () => 0, c = Promise.resolve(), d = [].values(), e = {};
  for (let i = 0; i < 8000; i++) {
    const f = a; a = () => f;
    b = Object.defineProperty(b.bind(null), 'name', { value: '' });
    c = c.then(() => 1);
    d = (function* (x) { yield* x; })(d);
    e = new Proxy(e, {});
  }
}
return 'freed';
