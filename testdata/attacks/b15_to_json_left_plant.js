// toJSON on the prototypes of all objects, texts and numbers is left behind. The next run must not see it.
for (const K of [Object, Array, String, Number, Boolean]) { try { K.prototype.toJSON = () => 'polluted'; } catch (e) { } }
return 'left';
