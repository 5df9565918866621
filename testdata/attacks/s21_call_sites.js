// CallSite.getFunction hands out functions of the stack: those of the bridge must be useless or absent. Value.
const mine = new Set();
const got = new Set();
Error.prepareStackTrace = (e, sites) => { for (const s of sites) { try { const f = s.getFunction && s.getFunction(); if (typeof f === 'function') got.add(f); } catch (x) { } } return ''; };
const grab = () => { new Error().stack; return 1; };
await codemode.echo({ toJSON: grab });
await codemode.echo({ get x() { return grab(); } });
try { await codemode.echo({ x: 1n }); } catch (e) { e.stack; }
try { await codemode.secret(); } catch (e) { e.stack; }
await new Promise(r => setTimeout(() => { grab(); r(); }, 0));
await { then(r) { grab(); r(); } };
let leaked = '';
for (const f of got) for (const args of [['secret', {}], ['secret', '{}'], [{}], ['secret'], ['return 1'], [1, 0, 'x']]) {
  try { const v = await Promise.race([f.apply(undefined, args), codemode.slow({ ms: 1 })]); if (v && /secret value|the secret/i.test(JSON.stringify(v) || '')) leaked = 'leaked'; } catch (e) { }
}
Error.prepareStackTrace = undefined;
return [leaked, await codemode.echo('contained')];
