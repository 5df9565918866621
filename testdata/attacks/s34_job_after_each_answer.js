// The first answer gets in and starts the chain: the second one never does. Ends at the time limit.
const first = codemode.echo(1), second = codemode.slow({ ms: 50 });
await first;
const spin = () => { Promise.resolve().then(spin); };
spin();
return await second;
