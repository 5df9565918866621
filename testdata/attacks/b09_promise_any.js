// Inside Promise.any, alone. Denied.
try { return await Promise.any([codemode.secret({})]); } catch (e) { throw e.errors[0]; }
