// Calls without an end: the quota ends it.
for (let i = 0; i < 1e6; i++) await codemode.echo(1);
return 1;
