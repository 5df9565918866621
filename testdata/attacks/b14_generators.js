// Async generators that are read in turns: each yields the answers of its own calls. Value.
async function* g(name) { for (let i = 0; i < 5; i++) yield await codemode.echo(name + i); }
const a = g('a'), b = g('b'), out = [];
for (let i = 0; i < 5; i++) out.push(...(await Promise.all([b.next(), a.next()])).map(x => x.value));
return out.join();
