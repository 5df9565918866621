// From Error.prepareStackTrace. Denied.
let p;
try { Error.prepareStackTrace = () => { p ??= codemode.secret({}); return ''; }; } catch (e) { }
new Error('x').stack;
try { Error.prepareStackTrace = undefined; } catch (e) { }
return await (p ?? codemode.secret({}));
