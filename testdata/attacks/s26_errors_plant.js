// Error settings: planted here. The next run must not see it.
Error.stackTraceLimit = 0;
Error.prepareStackTrace = () => 'planted';
return new Error('x').stack === undefined || true;
