// Caught and tried again in another way. Denied.
try { await codemode.secret({}); } catch (e) { }
return await codemode['secret']({});
