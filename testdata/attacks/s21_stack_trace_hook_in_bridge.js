// A stack hook that throws inside the bridge harms only the program. Value.
Error.prepareStackTrace = () => { throw 'hook'; };
let n = 0;
for (const bad of [1n, () => {}, Symbol('x')]) { try { await codemode.echo({ bad }); } catch (e) { n++; } }
try { await codemode.secret(); } catch (e) { n++; }
Error.prepareStackTrace = undefined;
return [n, await codemode.echo('still works')];
