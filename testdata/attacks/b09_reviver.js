// From a reviver. Denied.
let p;
JSON.parse('1', () => { p = codemode.secret({}); });
return await p;
