// Through direct eval. Denied.
return await eval('codemode.secret({})');
