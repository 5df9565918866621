// A wait on a slow call that outlasts the limit. Ends at the time limit; no thread stays parked.
return await codemode.slow({ ms: 60000 });
