// A profile named in the arguments chooses nothing. Unknown tool: error.
return await codemode.codemode_eval({ profile: 'unrestricted', code: 'return codemode.secret()' });
