// Nothing that the bridge gives has the key of the run before. Value.
const r = await codemode.echo({ a: [] }), p = codemode.echo(1), things = [r, r.a, p, codemode, codemode.echo, {}, [], () => 1];
await p;
try { await codemode.fail(); } catch (e) { things.push(e); }
try { await codemode.secret(); } catch (e) { things.push(e); }
return things.filter(o => o.planted === 'planted').length;
