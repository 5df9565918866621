// An error with a then method. Error, ends.
throw Object.assign(new Error('x'), { then(r) { r('not an error'); } });
