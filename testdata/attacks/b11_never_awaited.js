// Nine hundred slow calls that nobody awaits: the value comes at once, the calls are given up. Value.
for (let i = 0; i < 900; i++) codemode.slow({ ms: 5000 }).catch(() => {});
return 'at once';
