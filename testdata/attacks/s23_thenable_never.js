// A thenable result that never settles: told so, not waited for until the end. Error.
return { then() {} };
