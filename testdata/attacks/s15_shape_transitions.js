// Objects that share a shape while properties are deleted, redefined and made accessors in getters.
// The engine must stay sound: value.
const make = () => ({ a: 1, b: 2, c: 3, d: 4, get e() { delete this.a; Object.defineProperty(this, 'b', { get: () => 7, configurable: true }); for (let i = 0; i < 100; i++) this['n' + i] = i; return 5; } });
for (let i = 0; i < 300; i++) {
  const o = make(), p = make();
  ({ ...o }); try { Object.assign(p, o); } catch (e) { } Object.entries(make()); JSON.stringify(make()); Object.getOwnPropertyDescriptors(o);
  const { a, e, ...rest } = make();
  delete p.c; p.c = 1; Object.setPrototypeOf(p, o); p.zzz;
}
return 'alive';
