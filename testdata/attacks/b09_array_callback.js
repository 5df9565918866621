// From a callback of map. Denied.
return await Promise.all(['secret'].map(n => codemode[n]({})));
