package doctor

import (
	"context"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/server/oauth"
)

// oauth asks the issuers of access tokens for their metadata and keys, as the first token does.
func (d *diagnosis) oauth(ctx context.Context, e *codemode.Evaluator) {
	cfg := e.Config()
	if cfg == nil {
		return
	}
	h, err := cfg.HTTP(launch.Env)
	if err != nil || h.OAuth == nil {
		return // the check of the configuration says what is wrong
	}
	r := oauth.New(h.OAuth, nil)
	defer r.Close()
	for _, issuer := range h.OAuth.Issuers {
		keys, err := r.Try(ctx, issuer.URL)
		switch {
		case err != nil:
			hint := `compare "issuer" with the address of its metadata, without /.well-known/openid-configuration or ` +
				"/.well-known/oauth-authorization-server"
			d.fail(cli.ExitInternal, "oauth", issuer.Name, hint, "tokens of %s cannot be verified: %v", issuer.URL, err)
		case keys == 0 && issuer.Introspection == nil:
			d.fail(cli.ExitInternal, "oauth", issuer.Name, "it has to publish a signing key: RSA of 2048 bits, EC or Ed25519",
				"%s publishes no key that verifies tokens", issuer.URL)
		default:
			d.ok("oauth", issuer.Name, "%s of %s can verify tokens", cli.Count(keys, "key"), issuer.URL)
		}
	}
}

// signIn asks the identity provider of the page for its metadata, as a sign-in would.
func (d *diagnosis) signIn(ctx context.Context, e *codemode.Evaluator) {
	cfg := e.Config()
	if cfg == nil || cfg.Console == nil || cfg.Console.SignIn == nil {
		return
	}
	s := cfg.Console.SignIn
	if _, err := s.Secret(launch.Env); err != nil {
		return // the check of the configuration says it
	}
	const anywhere = "http://127.0.0.1/signin/callback" // nobody is sent there
	if _, _, err := signin.New(s, "", nil).Begin(ctx, anywhere, "", ""); err != nil {
		hint := `compare "issuer" with the address of the provider's metadata, without /.well-known/openid-configuration`
		d.fail(cli.ExitInternal, "sign-in", s.Name, hint, "%v", signin.Cause(err))
		return
	}
	d.ok("sign-in", s.Name, "people can sign in to the page at %s", s.Issuer)
}
