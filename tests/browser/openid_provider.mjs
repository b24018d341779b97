// A provider of OpenID Connect with two people, for the tests: node openid_provider.mjs PORT REDIRECT_URI
import Provider from "oidc-provider";

const [port, back] = process.argv.slice(2);
const groups = { ada: ["staff", "ethics-board"], bob: ["staff"] };
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "tacita", client_secret: "of the tests", redirect_uris: [back] }],
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
  pkce: { required: () => true },
  cookies: { keys: ["of the tests"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: `${id}@example.org`, groups: groups[id] ?? [] }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
