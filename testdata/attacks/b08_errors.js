// Error classes replaced before the bridge makes one. Denied stays denied and calls go on. Value.
globalThis.Error = globalThis.TypeError = function () { return 'stolen'; };
globalThis.ToolCallDeniedError = globalThis.ToolNotFoundError = class { };
Object.setPrototypeOf(Object.getPrototypeOf(async function () { }), null);
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
