// Each job queues two more: the queue doubles with each turn. Ends at the time limit, or by memory.
const split = () => { Promise.resolve().then(split); Promise.resolve().then(split); };
split();
return await codemode.echo(1);
