// A tool is called from Error.prepareStackTrace while the bridge makes an error. Value.
let inner = [];
Error.prepareStackTrace = () => { if (inner.length < 3) inner.push(codemode.echo('hook')); return ''; };
try { await codemode.echo({ x: 1n }); } catch (e) { e.stack; }
Error.prepareStackTrace = undefined;
return (await Promise.all(inner)).every(x => x === 'hook');
