// Object statics and Object.prototype replaced. Denied stays denied and calls go on. Value.
try {
  for (const k of Object.getOwnPropertyNames(Object)) if (typeof Object[k] === 'function') { try { Object[k] = () => ({}); } catch (e) { } }
  Object.prototype.toString = () => 'stolen';
  Object.prototype.approved = true;
  Object.prototype.hasOwnProperty = () => true;
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
