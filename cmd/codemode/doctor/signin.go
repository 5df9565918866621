package doctor

import (
	"context"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/console/signin"
)

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
