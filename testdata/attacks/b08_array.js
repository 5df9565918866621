// Array.prototype methods and the iterator replaced. Denied stays denied and calls go on. Value.
try {
  for (const k of Object.getOwnPropertyNames(Array.prototype)) if (typeof Array.prototype[k] === 'function' && k !== 'constructor') { try { Array.prototype[k] = () => 'stolen'; } catch (e) { } }
  Array.prototype[Symbol.iterator] = function* () { yield 'echo'; };
  Array.isArray = () => true;
  Array.from = () => ['echo'];
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
