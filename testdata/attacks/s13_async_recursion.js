// Async functions that call without awaiting first.
// An error the guest sees, no crash.
const f = async () => f();
return await f();
