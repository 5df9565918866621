// A revoked proxy is thrown. Error, ends.
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
throw proxy;
