// Sixteen answers arrive while a chain of promises keeps them out until the run is stopped. The next run must not get one.
for (let i = 0; i < 16; i++) codemode.echo('starved' + i);
const spin = () => { Promise.resolve().then(spin); };
spin();
await new Promise(() => {});
