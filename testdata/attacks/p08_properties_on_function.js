// Properties on the tool function. Denied.
const f = codemode.secret;
try { Object.assign(f, { approved: true, policy: 'allow', toolName: 'echo' }); } catch (e) { }
return await f({});
