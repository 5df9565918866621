// From a microtask. Denied.
const later = globalThis.queueMicrotask ?? (f => Promise.resolve().then(f));
return await new Promise((resolve, reject) => later(() => codemode.secret({}).then(resolve, reject)));
