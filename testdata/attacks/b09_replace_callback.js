// From a replace callback. Denied.
let p;
'x'.replace('x', () => { p = codemode.secret({}); return ''; });
return await p;
