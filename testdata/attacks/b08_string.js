// String.prototype methods replaced. Denied stays denied and calls go on. Value.
for (const k of Object.getOwnPropertyNames(String.prototype)) if (typeof String.prototype[k] === 'function' && k !== 'constructor') { try { String.prototype[k] = () => 'echo'; } catch (e) { } }
String.prototype[Symbol.iterator] = function* () { };
globalThis.String = () => 'echo';
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
