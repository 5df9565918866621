// A thousand timers that all loop. The outer stop ends it.
for (let i = 0; i < 1000; i++) setTimeout(() => { for (;;); }, 0);
await codemode.slow({ ms: 20 });
for (;;) await codemode.echo(1);
