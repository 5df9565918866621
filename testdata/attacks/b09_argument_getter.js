// From a getter of an argument of an allowed call. Denied.
let p;
await codemode.echo({ get x() { p = codemode.secret({}); p.catch(() => {}); return 1; } });
return await p;
