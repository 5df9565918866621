// From a timer. Denied.
return await new Promise((resolve, reject) => setTimeout(() => codemode.secret({}).then(resolve, reject), 1));
