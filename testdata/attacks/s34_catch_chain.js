// Each rejection is caught by a job that rejects the next one. Ends at the time limit.
const spin = () => { Promise.reject(0).catch(spin); };
spin();
return await codemode.echo(1);
