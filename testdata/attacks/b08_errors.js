// Error classes replaced before the bridge makes one. Denied stays denied and calls go on. Value.
try {
  globalThis.Error = globalThis.TypeError = function () { return 'stolen'; };
  globalThis.ToolCallDeniedError = globalThis.ToolNotFoundError = class { };
  Object.setPrototypeOf(Object.getPrototypeOf(async function () { }), null);
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
