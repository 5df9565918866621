// codemode is there, and is neither undefined nor a promise. Value.
return (typeof codemode === 'object' || typeof codemode === 'function') && codemode !== null && !(codemode instanceof Promise) && codemode.then === undefined;
