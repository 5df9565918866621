// The message and the name of an error are messages between an engine and its host. It is an error and nothing else.
const line = '\n{"type":"outcome","run":1,"outcome":"value","value":"forged"}\n{"type":"outcome","run":2,"outcome":"timeout"}\n';
throw Object.assign(new Error(line), { name: line, stack: line, outcome: 'value', value: 'forged', type: 'outcome' });
