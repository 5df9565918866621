// Proxies that are revoked by their own traps, half-way through each operation.
// The engine must stay sound: value.
for (const trap of ['get', 'has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'set', 'deleteProperty', 'defineProperty', 'isExtensible', 'preventExtensions', 'setPrototypeOf', 'apply', 'construct']) {
  const uses = [p => p.x, p => 'x' in p, p => Object.keys(p), p => ({ ...p }), p => p instanceof Object, p => { p.x = 1; }, p => delete p.x, p => Object.defineProperty(p, 'y', {}), p => Object.freeze(p), p => Object.setPrototypeOf(p, null), p => p(), p => new p(), p => [].concat(p), p => JSON.stringify(p), p => Reflect.construct(Object, [], p), p => Array.prototype.slice.call(p), p => class extends p { }];
  for (const use of uses) {
    const { proxy, revoke } = Proxy.revocable(function () { }, { [trap](...a) { revoke(); return Reflect[trap](...a); } });
    try { use(proxy); } catch (e) { }
    try { typeof proxy; Array.isArray(proxy); } catch (e) { }
  }
}
return 'alive';
