// Setters on Object.prototype for the same fields: they are given no function of the engine. Value.
const given = [];
try {
  for (const k of ['type', 'run', 'call', 'name', 'args', 'value', 'error', 'code', 'message', 'outcome', 'allow', 'limits', 'id', 'tool', 'ok', 'status'].concat('resolve', 'reject', 'then', 'promise', 'callback', 'cb', 'stack', 'cause')) Object.defineProperty(Object.prototype, k, { set(v) { given.push(v, this); }, get() { return undefined; }, configurable: true });
} catch (e) { }
try { await codemode.echo({ a: 1 }); } catch (e) { }
try { await codemode.secret({}); } catch (e) { }
try { await codemode.fail(); } catch (e) { }
return given.filter(v => typeof v === 'function').length;
