// toJSON that always gives one more level.
// Ends at the time limit, or by another limit before.
const f = () => ({ x: { toJSON: f } });
return JSON.stringify({ toJSON: f });
