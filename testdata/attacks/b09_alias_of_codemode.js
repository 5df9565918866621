// Through another name for codemode. Denied.
const tools = codemode;
return await tools.secret({});
