// Calls left under way: planted here. The next run must not see it.
for (let i = 0; i < 10; i++) codemode.slow({ ms: 100, tag: 'old' }).then(v => { globalThis.late = v; }, () => {});
return 'left';
