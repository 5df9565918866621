// Nine hundred calls one after the other. Value.
let n = 0;
for (let i = 0; i < 900; i++) n += await codemode.echo(1);
return n;
