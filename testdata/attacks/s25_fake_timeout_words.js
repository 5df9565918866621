// An error that says it timed out. It is an error and nothing else.
throw Object.assign(new Error('timed out: context deadline exceeded'), { name: 'TimeoutError', kind: 'timeout' });
