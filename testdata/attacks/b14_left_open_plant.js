// Five slow calls are open when the program returns. Their answers arrive in the next run, if anybody takes them there.
for (let i = 0; i < 5; i++) codemode.slow({ ms: 80 }).then(v => { globalThis.late = v; }, () => {});
codemode.echo('left open').then(v => { globalThis.late = v; }, () => {});
return 'left';
