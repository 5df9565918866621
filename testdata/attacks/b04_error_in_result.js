// Errors that were given a name, as part of the result: each key once. Value.
const e = new Error('m');
e.name = 'Custom';
return { e: [e] };
