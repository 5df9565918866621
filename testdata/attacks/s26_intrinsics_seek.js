// Replaced intrinsics: nothing of what the run before planted is here. Value.
return [JSON.stringify([1]), JSON.parse('[1]')[0], Array.isArray([]), Object.keys({ a: 1 })[0], typeof Math.random(), typeof Date.now(), [1].map(x => x + 1)[0], 'abc'.slice(1), parseInt('7'), (await Promise.all([1]))[0]];
