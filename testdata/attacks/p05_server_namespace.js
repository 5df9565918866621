// A namespace that is not there leads nowhere. Unknown tool: error.
return await codemode.codemode.secret({});
