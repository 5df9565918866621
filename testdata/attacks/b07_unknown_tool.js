// An unknown tool is an error of its own.
return await codemode.nosuchtool({});
