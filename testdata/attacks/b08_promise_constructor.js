// Promise.prototype.constructor replaced. Denied stays denied and calls go on. Value.
try {
  Promise.prototype.constructor = function (f) { f(() => {}, () => {}); };
  Promise.prototype.catch = Promise.prototype.finally = function () { return this; };
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
