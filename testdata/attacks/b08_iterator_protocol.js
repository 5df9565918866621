// The iterator protocol of Map and Set replaced: the bridge sends what they hold all the same. Value.
const P = Object.getPrototypeOf(new Map().entries()), S = Object.getPrototypeOf(new Set().values());
try {
  for (const K of [Map, Set]) for (const k of ['entries', 'values', 'keys', 'forEach', Symbol.iterator]) K.prototype[k] = () => { throw 1; };
  P.next = S.next = () => ({ done: false, value: 'planted' });
  Object.defineProperty(Map.prototype, 'size', { get() { return 9; } });
} catch (e) { } // an engine may freeze its built-in objects
return await codemode.echo([new Map([['a', 1]]), new Set([2])]);
