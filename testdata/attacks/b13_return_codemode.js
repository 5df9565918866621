// codemode as the result itself: refused or an empty value; no call is made. Error.
return { codemode, tool: codemode.echo };
