// A table of steps made by tools decides what is called next. Denied.
const steps = await codemode.echo([{ t: 'echo', a: 1 }, { t: 'secret', a: 2 }]);
let r;
for (const s of steps) r = await codemode[s.t](s.a);
return r;
