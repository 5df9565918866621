// From a setter. Denied.
let p;
const o = { set x(v) { p = codemode.secret(v); } };
o.x = {};
return await p;
