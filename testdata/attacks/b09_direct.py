# The plain call. Denied.
return await codemode.secret({})
