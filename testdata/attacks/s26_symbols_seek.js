// The symbol registry, template objects and RegExp statics: nothing of what the run before planted is here. Value.
return [String(RegExp.$1 || ''), String(RegExp.lastMatch || ''), typeof t];
