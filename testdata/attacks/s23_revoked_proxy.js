// A revoked proxy as the result is an error.
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
return [proxy];
