// The promise of a call settles once, with its own answer, however often its functions are tried. Value.
const seen = [];
const P = Promise.prototype.then;
const ps = [1, 2, 3, 4, 5].map(i => codemode.echo(i));
for (const p of ps) p.then(v => seen.push(v), e => seen.push('e'));
await Promise.all(ps);
await null;
return seen.sort().join();
