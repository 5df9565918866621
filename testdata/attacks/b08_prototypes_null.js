// The prototypes of the built-in prototypes are cut off. Denied stays denied and calls go on. Value.
try {
  for (const p of [Array.prototype, Promise.prototype, Map.prototype, Error.prototype, Function.prototype]) { try { Object.setPrototypeOf(p, null); } catch (e) { } }
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
