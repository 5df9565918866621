// After the tools of codemode were swapped, if that is possible at all. Denied.
const real = codemode.secret;
try { codemode.secret = codemode.echo; codemode.echo = real; } catch (e) { }
return await real({});
