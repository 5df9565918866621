package checks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/config/process"
)

// fingerprintForm is the form of a token's fingerprint, and of a program's digest in overlays.
var fingerprintForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// OverlaysForNobody finds overlays that can match no principal or program. Such an overlay narrows nothing, and nothing
// else reports it. env looks up the variables that hold tokens.
func OverlaysForNobody(cfg *config.Config, env func(string) (string, bool)) config.Problems {
	http, unusable := cfg.HTTP(env)
	known := []string{}
	for _, t := range http.Tokens {
		if !t.Answers { // others run nothing
			known = append(known, t.Principal, t.Fingerprint)
		}
	}
	var found config.Problems
	for _, o := range cfg.Overlays() {
		say := func(hint, format string, args ...any) {
			found = append(found, config.Problem{Position: o.Pos, Length: 1, Hint: hint,
				Message: fmt.Sprintf("the overlay %q can fit nobody: ", o.ID) + fmt.Sprintf(format, args...)})
		}
		switch p := o.Principal; {
		case p == "" || slices.Contains(known, p) || ofAnIssuer(http, p):
		case strings.HasPrefix(p, "sha256:") && !fingerprintForm.MatchString(p):
			say("printf %s \"$TOKEN\" | sha256sum prints them",
				"after sha256: a fingerprint has 64 hexadecimal digits in lower case, not %.80q", p)
		case strings.HasPrefix(p, "sha256:"):
			if len(http.Tokens) > 0 && unusable == nil {
				say("name the principal of the token, or its fingerprint as it is now",
					"none of http.tokens has the fingerprint %.24s…", p)
			}
		case !strings.HasPrefix(p, "local:"):
			say(`name a principal of http.tokens or http.oauth, or whoever starts codemode: "local:USER"`,
				"no token has the principal %.80q", p)
		}
		saved := cfg.Scripts != nil
		fits := slices.ContainsFunc(o.Programs, func(p string) bool {
			if strings.HasPrefix(p, "sha256:") {
				return fingerprintForm.MatchString(p)
			}
			return saved
		}) || len(o.Folders) > 0 && saved
		switch {
		case len(o.Programs)+len(o.Folders) == 0 || fits:
		case !saved:
			say(`add "scripts", or name programs by their digests: sha256:...`, "it is about saved programs, and there are none")
		default:
			say("sha256sum FILE prints them", "after sha256: the digest of a program has 64 hexadecimal digits in lower case")
		}
	}
	return found
}

// ofAnIssuer reports whether a token of an issuer may have a principal.
func ofAnIssuer(http config.HTTP, principal string) bool {
	name, _, qualified := strings.Cut(principal, ":")
	return qualified && http.OAuth != nil && slices.ContainsFunc(http.OAuth.Issuers, func(i process.Issuer) bool {
		return i.Name == name
	})
}
