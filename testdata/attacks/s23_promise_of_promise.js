// Promises inside promises are awaited. Value.
return Promise.resolve(Promise.resolve(43));
