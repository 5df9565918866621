// Inside Promise.race. Denied.
return await Promise.race([codemode.secret({}), codemode.slow({ ms: 1000 })]);
