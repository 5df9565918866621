// Typed arrays, buffers and the text codecs replaced. Denied stays denied and calls go on. Value.
try {
  for (const K of [Uint8Array, ArrayBuffer, DataView]) for (const k of Object.getOwnPropertyNames(K.prototype)) { try { Object.defineProperty(K.prototype, k, { value: () => 'stolen' }); } catch (e) { } }
  globalThis.Uint8Array = globalThis.TextEncoder = globalThis.TextDecoder = function () { return {}; };
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
