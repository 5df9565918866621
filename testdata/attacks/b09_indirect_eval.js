// Through indirect eval. Denied.
return await (0, eval)('codemode.secret({})');
