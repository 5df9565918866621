// What an allowed tool gave is passed on to a denied one. Denied.
const data = await codemode.echo('from an allowed read');
return await codemode.secret({ data });
