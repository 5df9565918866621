// The chain of the run before is gone: answers are this run's own. Value.
const own = [];
for (let i = 1; i <= 20; i++) own.push(await codemode.echo(i));
return [own.join(), typeof stray];
