// Through an optional call. Denied.
return await codemode?.secret?.({});
