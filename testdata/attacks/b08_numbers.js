// Number, Math and BigInt replaced. Denied stays denied and calls go on. Value.
try {
  for (const o of [Number, Math, BigInt]) for (const k of Object.getOwnPropertyNames(o)) if (typeof o[k] === 'function') { try { o[k] = () => 0; } catch (e) { } }
  globalThis.Number = () => 0;
  globalThis.parseInt = () => 0;
  globalThis.isNaN = () => false;
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
