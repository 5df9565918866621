// A chain of promises never lets the answer of a call in. Ends at the time limit.
const spin = () => { Promise.resolve().then(spin); };
spin();
return await codemode.echo(1);
