// Awaiting a tool function gives the function: no tool named echo__then is called. Value.
const f = await codemode.echo;
return typeof f === 'function' ? await f('y') : 'not a function';
