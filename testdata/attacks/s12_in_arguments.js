// Out of memory while the arguments of a call become text.
// Refused with an error, or ended by a limit.
let o = 'x'.repeat(1000);
for (let i = 0; i < 30; i++) o = [o, o];
return await codemode.echo(o);
