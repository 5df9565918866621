// An authorization server that registers nobody, for the tests: node oidc.mjs RESOURCE
//
// oidc-provider knows its clients by their client metadata documents. One person, anna, logs in and agrees at once. Its
// access tokens for RESOURCE live for ten seconds, so that each use renews one. It prints its issuer, and GET
// /whose?token=TOKEN says whose a token is.
URL.parse ??= (text, base) => { try { return new URL(text, base); } catch { return null; } }; // Node 20 lacks it
const { default: Provider } = await import("oidc-provider");
const http = await import("node:http");

const server = http.createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;
const resource = { scope: "read", audience: process.argv[2], accessTokenFormat: "opaque", accessTokenTTL: 10 };
const provider = new Provider(issuer, {
  features: {
    clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true, getResourceServerInfo: () => resource, defaultResource: () => undefined, useGrantedResource: () => true,
    },
  },
  interactions: { url: (_, interaction) => `/agree/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
  // The documents of the tests are on this machine, where it would fetch none.
  fetch: (url, { dispatcher, ...options }) => fetch(url, options),
});
provider.use(async (ctx, next) => {
  if (ctx.path.startsWith("/agree/")) {
    const { params } = await provider.interactionDetails(ctx.req, ctx.res);
    const grant = new provider.Grant({ accountId: "anna", clientId: params.client_id });
    grant.addResourceScope(params.resource, params.scope);
    const answer = { login: { accountId: "anna" }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(ctx.req, ctx.res, answer);
  } else if (ctx.path === "/whose") {
    const token = await provider.AccessToken.find(ctx.query.token);
    ctx.body = { person: token?.accountId, client: token?.clientId, audience: token?.aud, valid: token?.isValid };
  } else await next();
});
server.on("request", provider.callback());
console.log(issuer);
