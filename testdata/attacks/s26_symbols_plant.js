// The symbol registry, template objects and RegExp statics: planted here. The next run must not see it.
/(plan)(ted)/.exec('planted');
Symbol.for('planted-key').description;
globalThis.t = (s => s)`planted`;
return (RegExp.$1 || 'plan');
