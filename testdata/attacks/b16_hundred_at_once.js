// A hundred calls of a megabyte at once, all of whose answers are kept: more than there is. Memory, or calls are refused.
const s = 'x'.repeat(1e6);
const r = await Promise.all(Array.from({ length: 100 }, (_, i) => codemode.echo(s + i)));
return r.length;
