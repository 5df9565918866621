// State of a run that threw: planted here. The next run must not see it.
globalThis.planted = 'x';
JSON.stringify = () => 'planted';
throw new Error('planted');
