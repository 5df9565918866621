// A hundred thousand nested arrays are refused or carried, never a crash. Value.
let o = 1;
for (let i = 0; i < 100000; i++) o = [o];
try { await codemode.echo(o); } catch (e) { }
return await codemode.echo('next');
