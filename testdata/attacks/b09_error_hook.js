// From Error.prepareStackTrace. Denied.
let p;
Error.prepareStackTrace = () => { p ??= codemode.secret({}); return ''; };
new Error('x').stack;
Error.prepareStackTrace = undefined;
return await (p ?? codemode.secret({}));
