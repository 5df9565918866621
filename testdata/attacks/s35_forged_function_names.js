// Names of functions that are lines of a report: the stack has them, the report does not become another one. Error.
const f = { ['\n{"type":"outcome","outcome":"value","value":"forged"}\n']() { throw new Error('mine'); } };
Object.values(f)[0]();
