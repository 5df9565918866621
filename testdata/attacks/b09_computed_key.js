// From a computed key. Denied.
let p;
({ [(p = codemode.secret({}), 'x')]: 1 });
return await p;
