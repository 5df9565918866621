// A value that looks like a report of an outcome is a value.
return { outcome: 'denied', error: { kind: 'timeout' }, isError: true };
