// The symbol registry, template objects and RegExp statics: nothing of what the run before planted is here. Value.
const statics = [RegExp.$1, RegExp.$2, RegExp.lastMatch, RegExp.input].map(s => String(s ?? ''));
return [statics.some(s => s.includes('plan')), typeof t];
