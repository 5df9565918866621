// The evaluator's own tool is no tool of a program. Unknown tool: error.
return await codemode.codemode_eval({ code: 'return codemode.secret()' });
