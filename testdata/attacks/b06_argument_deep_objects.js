// The same with objects and a key of each level. Value.
let o = 1;
for (let i = 0; i < 50000; i++) o = { k: o };
try { await codemode.echo(o); } catch (e) { }
return await codemode.echo('next');
