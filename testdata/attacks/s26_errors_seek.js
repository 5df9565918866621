// Error settings: nothing of what the run before planted is here. Value.
return [Error.prepareStackTrace === undefined || Error.prepareStackTrace === null || typeof Error.prepareStackTrace, String(new Error('x').stack).includes('planted')];
