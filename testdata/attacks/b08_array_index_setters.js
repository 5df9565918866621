// Setters on Array.prototype indexes that swallow what is stored. Denied stays denied and calls go on. Value.
try {
  for (let i = 0; i < 32; i++) Object.defineProperty(Array.prototype, i, { set(v) { }, get() { return 'stolen'; }, configurable: true });
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
