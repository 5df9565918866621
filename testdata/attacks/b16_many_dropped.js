// A hundred answers of a megabyte, one after the other, of which none is kept: no limit of memory is reached. Value.
const s = 'z'.repeat(1e6);
let n = 0;
for (let i = 0; i < 100; i++) n += (await codemode.echo(s)).length;
return n;
