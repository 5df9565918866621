// From a getter. Denied.
return await { get x() { return codemode.secret({}); } }.x;
