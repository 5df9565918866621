// After a hundred allowed calls. Denied.
for (let i = 0; i < 100; i++) await codemode.echo(i);
return await codemode.secret({});
