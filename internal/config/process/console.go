package process

import (
	"maps"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/config/issuers"
	"github.com/codemode-project/codemode/internal/config/signin"
	"github.com/codemode-project/codemode/internal/settings"
)

// Console is the key "console": the page on which people answer, and who they are.
type Console struct {
	Off bool `alone:"false"`
	// A port, or an address of this machine such as "127.0.0.1:7391". Without it the page is only beside codemode serve
	// --http.
	Address string `key:"address" alone:"text" form:"own"`
	Origin  string `key:"origin" form:"origin"` // Where browsers find the page, if something with TLS stands before it.
	// People, by principal such as local:anna: who may log in with a link besides whoever started the process, and for
	// whom each person answers.
	People map[string]Person `key:"people" by:"principal" like:"write {'local:anna': {'answersFor': ['ci']}}"`
	// An OpenID Connect provider at which people sign in to the page, besides login links (signin.md); none if left out.
	// It counts from the start of a process.
	SignIn *signin.Settings `key:"signIn"`
	Idle   time.Duration    `key:"idle"` // How long a login lasts without being used; 30m if left out.
	Life   time.Duration    `key:"life"` // How long a login lasts at most; 12h if left out.
}

// A Person is an entry of the key "people".
type Person struct {
	// For whom they may answer besides themselves: principals, or * for all. Left out: only for themselves; but whoever
	// started the process, and people who sign in, answer for all.
	AnswersFor []string `key:"answersFor" each:"a principal"`
	Rules      bool     `key:"rules"` // They may see and change the configuration, and with it what is started here.
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
