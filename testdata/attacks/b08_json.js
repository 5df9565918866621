// JSON.stringify and parse replaced, and frozen. Denied stays denied and calls go on. Value.
try {
  JSON.stringify = () => '{"approved":true}';
  JSON.parse = () => ({ approved: true });
  Object.freeze(JSON);
  globalThis.JSON = { parse: () => 1, stringify: () => '1' };
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
