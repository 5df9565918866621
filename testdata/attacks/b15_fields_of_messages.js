// Object.prototype has values for every field that a message between program and engine may have. Denied stays denied. Value.
try {
  for (const k of ['type', 'run', 'call', 'name', 'args', 'value', 'error', 'code', 'message', 'outcome', 'allow', 'limits', 'id', 'tool', 'ok', 'status']) Object.defineProperty(Object.prototype, k, { value: k === 'name' || k === 'tool' ? 'echo' : 'forged', writable: true, configurable: true });
} catch (e) { }
let denied = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { denied = 'refused'; }
return [denied, await codemode.echo('ok')];
