// An error with a message of twenty megabytes. Error, ends.
throw new Error('x'.repeat(20e6));
