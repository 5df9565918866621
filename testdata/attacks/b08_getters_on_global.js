// Accessors on the global object for the names that a bridge may use late. Denied stays denied and calls go on. Value.
try {
  const define = Object.defineProperty;
  for (const k of ['JSON', 'Promise', 'Object', 'Array', 'Error', 'TypeError', 'Map', 'Symbol', 'Reflect', 'String', 'queueMicrotask', 'setTimeout', 'console']) { const v = globalThis[k]; define(globalThis, k, { get() { globalThis.touched = k; return undefined; }, configurable: true }); }
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
