// A stack hook that throws inside the bridge harms only the program. Value.
try { Error.prepareStackTrace = () => { throw 'hook'; }; } catch (e) { }
let n = 0;
const ring = [];
ring.push(ring);
for (const bad of [1n, [2n], ring]) { try { await codemode.echo({ bad }); } catch (e) { n++; } }
try { await codemode.secret(); } catch (e) { n++; }
try { Error.prepareStackTrace = undefined; } catch (e) { }
return [n, await codemode.echo('still works')];
