// Symbol and its statics replaced. Denied stays denied and calls go on. Value.
try {
  globalThis.Symbol = { iterator: 'x', for: () => 'x', toPrimitive: 'x', species: 'x' };
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
