// The loop starts in the continuation of a host call. Ends at the time limit.
const x = await codemode.echo(1);
while (x);
