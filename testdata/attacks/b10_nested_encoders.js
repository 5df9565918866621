// Calls in toJSON in calls in toJSON, eight deep, each with its own argument. Value.
const seen = [];
const f = n => ({ n, x: { toJSON() { if (n > 0) seen.push(codemode.echo(f(n - 1))); return 'j' + n; } }, after: 'a'.repeat(n) });
const top = await codemode.echo(f(8));
const all = [top, ...await Promise.all(seen)];
return all.every(r => r.x === 'j' + r.n && r.after.length === r.n) && all.length;
