// From a generator. Denied.
function* g() { yield codemode.secret({}); }
return await g().next().value;
