// Calls between thousands of awaits are answered in turn. Value.
let n = 0;
for (let i = 0; i < 20; i++) { for (let j = 0; j < 2000; j++) await null; n += await codemode.echo(1); }
return n;
