// From a comparator. Denied.
let p;
[1, 2].sort(() => { p ??= codemode.secret({}); return 0; });
return await p;
