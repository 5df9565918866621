// Calls inside the iterator of an argument are calls of their own, and the outer bytes stay whole. Value.
const inner = [];
function* g() { inner.push(codemode.echo({ n: [...'ab'] })); yield 1; try { inner.push(codemode.echo([() => 1])); } catch (e) { } yield 2; }
const outer = await codemode.echo({ a: g(), z: 'end' });
return [outer, await Promise.all(inner)];
