// A chain of promises never lets a timer fire. Ends at the time limit.
const spin = () => { Promise.resolve().then(spin); };
spin();
return await new Promise(r => setTimeout(r, 1, 'fired'));
