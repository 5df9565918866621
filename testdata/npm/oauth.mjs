// A client that signs in, for the tests: node oauth.mjs v1|v2 URL CLIENT
//
// It finds the issuer over the metadata of the server at URL, goes through the code flow as the person test-user2 or
// $PERSON, lists the tools and runs a program. It prints one line of JSON.
const [version, url, clientID] = process.argv.slice(2);
const v1 = version === "v1";
const { Client } = await import(v1 ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const http = await import(v1 ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client");

const redirect = "http://127.0.0.1/callback";
let tokens, verifier, code, asked = [];

// signIn does what a person does in a browser.
async function signIn(authorization) {
  asked.push({ resource: authorization.searchParams.get("resource"), scope: authorization.searchParams.get("scope") });
  const step = async (at, init) => {
    const answer = await fetch(at, { redirect: "manual", ...init });
    const next = answer.headers.get("location");
    if (!next) throw new Error(`${at}: ${answer.status} ${await answer.text()}`);
    return new URL(next, at);
  };
  const login = await step(authorization);
  const form = { id: login.searchParams.get("authRequestID"), password: "verysecure",
    username: process.env.PERSON ?? "test-user2" };
  let at = await step(new URL("/login/username", login), { method: "POST", body: new URLSearchParams(form) });
  if (!at.href.startsWith(redirect)) at = await step(at);
  code = at.searchParams.get("code");
  if (!code) throw new Error(`no code: ${at}`);
}

const authProvider = {
  get redirectUrl() { return redirect; },
  get clientMetadata() { return { redirect_uris: [redirect], client_name: "codemode-test" }; },
  clientInformation: () => ({ client_id: clientID }),
  tokens: () => tokens,
  saveTokens: (given) => { tokens = given; },
  redirectToAuthorization: signIn,
  saveCodeVerifier: (given) => { verifier = given; },
  codeVerifier: () => verifier,
};

const options = v1 ? {} : { versionNegotiation: { mode: "auto" } };
const make = () => new Client({ name: "codemode-test", version: "1" }, options);
const connect = async (client) => {
  const transport = new http.StreamableHTTPClientTransport(new URL(url), { authProvider });
  try {
    await client.connect(transport);
    return transport;
  } catch (error) {
    if (!code) throw error;
    await transport.finishAuth(code);
    code = undefined;
    return undefined;
  }
};
let client = make();
if (!(await connect(client))) {
  client = make();
  await connect(client);
}
const tools = (await client.listTools()).tools.map((tool) => tool.name)
  .filter((name) => name.startsWith("codemode_eval"));
const result = await client.callTool({ name: tools[0], arguments: { code: "return 6 * 7" } });
console.log(JSON.stringify({ tools, text: result.content[0].text, asked, token: tokens.access_token }));
await client.close();
