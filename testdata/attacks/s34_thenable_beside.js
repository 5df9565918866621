// A thenable that gives itself is resolved for ever, beside a call. Ends at the time limit.
const t = { then(r) { r(t); } };
Promise.resolve(t);
return await codemode.echo(1);
