// The tool of another profile is no tool of a program. Unknown tool: error.
return await codemode.codemode_eval_unrestricted({ code: 'return codemode.secret()' });
