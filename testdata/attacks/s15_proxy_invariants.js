// Proxy traps that lie about own keys, descriptors and extensibility.
// The engine must stay sound: value.
const target = Object.defineProperty({ a: 1 }, 'fixed', { value: 1 });
const lies = { ownKeys: [() => ['a', 'a'], () => [], () => [1, {}], () => ({ length: 2 ** 32 }), () => new Proxy(['a'], {})], getOwnPropertyDescriptor: [() => ({ value: 2, configurable: true }), () => 1, () => undefined, () => new Proxy({}, {})], has: [() => false], get: [() => 2], set: [() => true], deleteProperty: [() => true], defineProperty: [() => true], getPrototypeOf: [() => 1, () => ({})], isExtensible: [() => false], preventExtensions: [() => true] };
for (const [trap, fs] of Object.entries(lies)) for (const f of fs) {
  const p = new Proxy(target, { [trap]: f });
  for (const use of [() => Object.keys(p), () => ({ ...p }), () => JSON.stringify(p), () => Object.entries(p), () => { for (const k in p); }, () => p.fixed, () => { p.fixed = 3; }, () => delete p.fixed, () => 'fixed' in p, () => Object.freeze(p), () => Object.getOwnPropertyDescriptors(p), () => Object.assign({}, p), () => Object.getPrototypeOf(p), () => Object.isExtensible(p), () => Object.preventExtensions(p), () => structuredClone(p)]) { try { use(); } catch (e) { } }
}
return 'alive';
