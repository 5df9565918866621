// A promise that rejects is thrown. Error, ends.
throw Promise.reject(new Error('inner'));
