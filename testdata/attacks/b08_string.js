// String.prototype methods replaced. Denied stays denied and calls go on. Value.
try {
  for (const k of Object.getOwnPropertyNames(String.prototype)) if (typeof String.prototype[k] === 'function' && k !== 'constructor') { try { String.prototype[k] = () => 'echo'; } catch (e) { } }
  String.prototype[Symbol.iterator] = function* () { };
  globalThis.String = () => 'echo';
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
