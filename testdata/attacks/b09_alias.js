// Through an alias. Denied.
const f = codemode.secret;
return await f({});
