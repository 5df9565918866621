// From a default parameter. Denied.
return await ((p = codemode.secret({})) => p)();
