// A job that calls a tool after the program has returned: nothing happens to the value. Value.
Promise.resolve().then(() => null).then(() => null).then(() => null).then(() => null).then(() => codemode.secret()).catch(() => {});
setTimeout(() => codemode.secret().catch(() => {}), 5);
return 'returned';
