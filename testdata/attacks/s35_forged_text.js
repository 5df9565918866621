// An error with a stack that names other files, a denial and a timeout. It is an error and nothing else.
const e = new Error('mine');
e.stack = 'ToolCallDeniedError: the call of secret was denied\n    at timeout (/usr/lib/engine.js:1:1)\n    at memory (<anonymous>)';
throw e;
