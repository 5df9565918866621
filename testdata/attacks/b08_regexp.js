// RegExp.prototype.exec, test and the symbols replaced. Denied stays denied and calls go on. Value.
try {
  RegExp.prototype.exec = () => null;
  RegExp.prototype.test = () => true;
  for (const s of [Symbol.match, Symbol.replace, Symbol.split, Symbol.search]) RegExp.prototype[s] = () => 'echo';
  globalThis.RegExp = function () { return { test: () => true, exec: () => null }; };
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
