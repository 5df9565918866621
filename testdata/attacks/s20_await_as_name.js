// await cannot be a name here. Syntax error.
var await = 1; return await;
