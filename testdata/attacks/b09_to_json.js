// From toJSON of an argument of an allowed call. Denied.
let p;
await codemode.echo({ toJSON() { p = codemode.secret({}); p.catch(() => {}); return 1; } });
return await p;
