// An error with a stack of twenty megabytes. Error, ends.
throw Object.assign(new Error('x'), { stack: 'y'.repeat(20e6), name: 'z'.repeat(1e6) });
