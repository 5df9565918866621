// finally starts the next chain of promises. Ends at the time limit.
const spin = () => { Promise.resolve().finally(spin); };
spin();
return await codemode.echo(1);
