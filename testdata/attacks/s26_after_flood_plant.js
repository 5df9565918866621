// State of a run that left a thousand calls behind, and that its time limit ended: planted here. The next run must not see it.
for (let i = 0; i < 990; i++) codemode.slow({ ms: 5000 }).catch(() => {});
return 'left';
