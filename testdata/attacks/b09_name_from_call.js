// Through a name that a tool gave. Denied.
return await codemode[await codemode.echo('secret')]({});
