# Through an alias. Denied.
f = codemode.secret
return await f({})
