// From a microtask. Denied.
return await new Promise((resolve, reject) => queueMicrotask(() => codemode.secret({}).then(resolve, reject)));
