// Fifty answers of ten thousand objects, of which none is kept. Value.
const a = Array.from({ length: 10000 }, (_, i) => ({ i, s: 'n' + i }));
let n = 0;
for (let i = 0; i < 50; i++) n += (await codemode.echo(a)).length;
return n;
