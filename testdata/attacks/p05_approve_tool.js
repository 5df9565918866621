// Nothing that a program can call approves anything. Unknown tool: error.
return await codemode.approve({ tool: 'secret', decision: 'allow_once' });
