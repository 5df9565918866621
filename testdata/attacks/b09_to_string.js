// From toString. Denied.
let p;
`${{ toString() { p = codemode.secret({}); return ''; } }}`;
return await p;
