// What the bridge gives leads to its prototypes: objects, arrays, errors, promises and functions get a key. The next run must not see it.
const r = await codemode.echo({ a: [] }), p = codemode.echo(1), errors = [];
await p;
try { await codemode.fail(); } catch (e) { errors.push(e); }
try { await codemode.secret(); } catch (e) { errors.push(e); }
for (let o of [r, r.a, p, codemode, codemode.echo, ...errors]) {
  while ((o = Object.getPrototypeOf(o))) { try { o.planted = 'planted'; } catch (e) { } }
}
return 'planted';
