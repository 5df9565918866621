// Promise, its then, resolve and species replaced. Denied stays denied and calls go on. Value.
try {
  const T = Promise.prototype.then;
  Promise.prototype.then = function (a, b) { return T.call(this, a, e => a && a('stolen')); };
  Promise.resolve = () => 'stolen';
  Promise.reject = () => 'stolen';
  Object.defineProperty(Promise, Symbol.species, { get: () => function () { return 'stolen'; }, configurable: true });
  globalThis.Promise = function () { return { then(r) { r('stolen'); } }; };
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
