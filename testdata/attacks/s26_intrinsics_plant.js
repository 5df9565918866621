// Replaced intrinsics: planted here. The next run must not see it.
const lie = () => 'planted';
for (const [o, k] of [[JSON, 'stringify'], [JSON, 'parse'], [Array, 'isArray'], [Object, 'keys'], [Math, 'random'], [Date, 'now'], [Array.prototype, 'map'], [String.prototype, 'slice'], [Promise, 'all'], [console, 'log'], [globalThis, 'parseInt'], [globalThis, 'setTimeout']]) o[k] = lie;
return parseInt('7');
