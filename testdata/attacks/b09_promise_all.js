// Inside Promise.all with allowed calls. Denied.
return await Promise.all([codemode.echo(1), codemode.secret({}), codemode.echo(2)]);
