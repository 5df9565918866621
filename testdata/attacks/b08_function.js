// Function.prototype.call, apply, bind and Symbol.hasInstance replaced. Denied stays denied and calls go on. Value.
try {
  Function.prototype.call = Function.prototype.apply = Function.prototype.bind = function () { return 'stolen'; };
  Function.prototype.toString = () => 'stolen';
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
