// Map, Set and WeakMap methods replaced. Denied stays denied and calls go on. Value.
try {
  const stolen = [];
  for (const K of [Map, Set, WeakMap, WeakSet]) for (const k of ['get', 'set', 'has', 'add', 'delete', 'clear', 'forEach']) if (K.prototype[k]) K.prototype[k] = function (...a) { stolen.push(a); return a[1]; };
  globalThis.Map = globalThis.Set = globalThis.WeakMap = class { get() { } set() { } has() { return true; } };
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
