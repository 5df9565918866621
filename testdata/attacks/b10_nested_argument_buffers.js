// Calls inside of toJSON of an argument, each with buffers of its own: small in large, large in small, three deep, one that fails. Value.
const inner = [];
const give = (x, y) => ({ toJSON() { inner.push(codemode.echo(x).catch(e => e.name)); return y; } });
const big = "b".repeat(9000);
const outer = await codemode.echo([give("s", big), give(big, "s"), give(give(give(1, 2), 3), 4), give(Symbol.iterator.description, 5)]);
let failed;
try { await codemode.echo({ toJSON() { inner.push(codemode.echo("kept")); throw new RangeError("mine"); } }); } catch (e) { failed = e.name; }
const after = await codemode.echo("after");
return [outer.map(x => String(x).length), (await Promise.all(inner)).map(x => String(x).length), failed, after];
