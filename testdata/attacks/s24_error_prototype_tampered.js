// Error.prototype without name, message and toString. Error, ends.
delete Error.prototype.name;
delete Error.prototype.message;
delete Error.prototype.toString;
throw new Error('x');
