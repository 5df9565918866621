// After every prototype in reach was tampered with. Denied.
try {
  Object.prototype.approved = true;
  Object.prototype.toString = () => 'echo';
  String.prototype.toString = () => 'echo';
  Array.prototype.includes = () => true;
  Function.prototype.call = () => 1;
  Promise.prototype.catch = function () { return this; };
} catch (e) { } // an engine may freeze its built-in objects
return await codemode.secret({});
