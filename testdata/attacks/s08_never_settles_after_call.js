// The same after a host call has come back. Error.
await codemode.echo(1);
await { then() {} };
return 1;
