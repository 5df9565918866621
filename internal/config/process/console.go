package process

import (
	"maps"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/config/issuers"
	"github.com/codemode-project/codemode/internal/config/signin"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Console is the key "console": the page on which people answer, and who they are. It is false, an address such as
// "127.0.0.1:7391", or
//
//	{ "address": "127.0.0.1:7391",       // absent: only beside "codemode serve --http"
//	  "origin": "https://codemode.example", // where browsers find it, if something stands before it
//	  "people": {
//	    "local:anna": { "answersFor": ["ci"] },          // beside herself
//	    "ben": { "answersFor": ["*"], "rules": false } },
//	  "signIn": { "name": "acme", "issuer": "https://login.example.com", ... },
//	  "idle": "30m", "life": "12h" }
type Console struct {
	Off bool
	// A port, or an address of this machine such as "127.0.0.1:7391". Without it the page is only beside codemode serve
	// --http.
	Address string `key:"address" form:"own"`
	// Where browsers find the page, if something with TLS stands before it.
	Origin string `key:"origin" form:"origin"`
	// Who may log in besides whoever started the process, by principal, such as local:anna.
	People map[string]Person `key:"people" by:"principal" like:"write {'local:anna': {'answersFor': ['ci']}}"`
	// An OpenID Connect provider at which people sign in to the page, besides login links (signin.md); none if left out.
	// It counts from the start of a process.
	SignIn *signin.Settings `key:"signIn"`
	// How long a login lasts without being used; 30m if left out.
	Idle time.Duration `key:"idle"`
	// How long a login lasts at most; 12h if left out.
	Life time.Duration `key:"life"`
}

// A Person may log in, in addition to the user who started the process.
type Person struct {
	// For whom they may answer besides themselves: principals, or * for all.
	//
	// If it is left out, that is nobody; the user who started the process answers for all.
	AnswersFor []string `key:"answersFor" each:"a principal"`
	// They may see and change the configuration, and with it what is started here.
	Rules bool `key:"rules"`
}

// Other reads false, or the address alone.
func (c *Console) Other(r *settings.Reader, n strictjson.Value, what string) {
	switch n.Kind() {
	case strictjson.False:
		c.Off = true
	case strictjson.True:
		r.Wrong(n, `write an address, such as "127.0.0.1:7391"`, `%s: true does not say where the page is`, what)
	case strictjson.String:
		c.Address = r.Formed(n, "the address", "own")
	default:
		r.Wrong(n, `write false, an address such as "127.0.0.1:7391", or an object`,
			`%s must be false, a string or an object, this is %s`, what, n.Kind())
	}
}

// Conflicts reports names of people who sign in that others could have too.
func Conflicts(k *Keys) settings.Problems {
	if k.Console == nil || k.Console.SignIn == nil {
		return nil
	}
	var oauth *issuers.Settings
	var answering, ruling []string
	if k.HTTP != nil {
		oauth = k.HTTP.OAuth
		for _, t := range k.HTTP.Tokens {
			if t.Answers {
				answering = append(answering, t.Principal)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Console.People)) {
		if k.Console.People[name].Rules {
			ruling = append(ruling, name)
		}
	}
	return k.Console.SignIn.Conflicts(oauth, answering, ruling)
}
