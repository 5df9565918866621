// Nine hundred slow calls that nobody awaits: the run waits for them until its time is over. Timeout.
for (let i = 0; i < 900; i++) codemode.slow({ ms: 5000 }).catch(() => {});
return 'at once';
