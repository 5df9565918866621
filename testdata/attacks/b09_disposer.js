// From a disposer. Denied.
let p;
if (typeof DisposableStack === 'function') { const s = new DisposableStack(); s.defer(() => { p = codemode.secret({}); }); s.dispose(); } else p = codemode.secret({});
return await p;
