// Through a proxy around codemode. Denied.
const p = new Proxy(codemode, {});
return await p.secret({});
