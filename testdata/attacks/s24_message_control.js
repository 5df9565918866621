// An error with terminal escapes, bidi overrides and half a surrogate pair. Error, ends.
throw new Error('\u001b[2J\u202e\ud800\u0000\r\nfake line: value 1');
