// Error classes of the bridge, changed: planted here. The next run must not see it.
for (const c of [typeof ToolCallDeniedError === 'function' ? ToolCallDeniedError : Error, Error, TypeError]) { c.prototype.name = 'planted'; c.prototype.toString = () => 'planted'; Object.setPrototypeOf(c.prototype, null); }
return 'changed';
