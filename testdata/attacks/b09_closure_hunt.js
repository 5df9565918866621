// Functions found on codemode, its prototypes and its tools are called with a denied name. Value.
const seen = new Set(), hits = [];
const visit = (o, d) => { if (d > 4 || o === null || (typeof o !== 'object' && typeof o !== 'function') || seen.has(o)) return; seen.add(o); let ks = []; try { ks = Reflect.ownKeys(o); } catch (e) { } for (const k of ks) { try { visit(o[k], d + 1); } catch (e) { } } try { visit(Object.getPrototypeOf(o), d + 1); } catch (e) { } };
visit(codemode, 0); visit(codemode.echo, 0);
for (const f of seen) if (typeof f === 'function' && f !== Function && f.constructor !== f) { try { let v = f.call(codemode, 'secret', '{}'); if (v && typeof v.then === 'function') v = await Promise.race([v, codemode.slow({ ms: 1 })]).catch(() => 0); } catch (e) { } if (seen.size > 500) break; }
return await codemode.echo('policy holds');
