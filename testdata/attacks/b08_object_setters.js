// Setters on Object.prototype for likely names of internal state. Denied stays denied and calls go on. Value.
try {
  for (const k of ['id', 'name', 'args', 'resolve', 'reject', 'promise', 'value', 'error', 'kind', 'class', 'message', 'done', 'next', 'then', 'get', 'set', 'call', 'status', 'result', 'toolName', 'reason']) Object.defineProperty(Object.prototype, k, { __proto__: null, set(v) { globalThis['stolen_' + k] = v; }, get() { return undefined; }, configurable: true });
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
