// From valueOf. Denied.
let p;
+{ valueOf() { p = codemode.secret({}); return 1; } };
return await p;
