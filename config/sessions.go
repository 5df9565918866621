package config

import (
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Sessions is the key "sessions": whether programs may go on where another one ended, and what is kept of that.
//
//	"sessions": { "keep": "168h", "largest": "16MiB", "bytes": "256MiB", "number": 100, "versions": 20 }
//
// The key is false to have no sessions. Without the key there are sessions, which MCP clients are not offered: what
// describes them costs a model tokens. It is true for an object without members.
type Sessions struct {
	Off      bool
	Offered  bool          // to MCP clients
	Keep     time.Duration // how long a session is kept after its last use
	Largest  int64         // bytes of one version of a session
	Bytes    int64         // of all versions of all sessions of one principal
	Number   int           // of sessions of one principal
	Versions int           // of one session; the oldest make way
}

const (
	// longestSessions is the longest that sessions are kept without use.
	longestSessions = 90 * 24 * time.Hour
	// mostVersions is the most that sessions.versions may be.
	mostVersions = 1000
)

// usualSessions are the rules if no file sets them.
var usualSessions = Sessions{Keep: 7 * 24 * time.Hour, Largest: 16 << 20, Bytes: 256 << 20, Number: 100, Versions: 20}

// Sessions returns the key "sessions", or the usual rules.
func (c *Config) Sessions() Sessions {
	if c == nil || c.sessions == nil {
		return usualSessions
	}
	return *c.sessions
}

func (b *builder) sessions(n strictjson.Value) Sessions {
	s := usualSessions
	switch n.Kind() {
	case strictjson.False:
		s.Off = true
		return s
	case strictjson.True:
		s.Offered = true
		return s
	case strictjson.Object:
		s.Offered = true
	default:
		b.Wrong(n, `write true, false, or {"keep": "168h"}`, `"sessions" must be true, false or an object, this is %s`, n.Kind())
		return s
	}
	b.quota(n, "sessions", quota{keep: &s.Keep, largest: &s.Largest, bytes: &s.Bytes, number: &s.Number,
		longest: longestSessions, most: maxCapacity},
		settings.Key("versions", func(n strictjson.Value) {
			if s.Versions = int(b.Whole(n, `"versions"`, 1)); s.Versions > mostVersions {
				b.Wrong(n, "write 1000 or less", "a session keeps at most 1000 versions")
			}
		}))
	return s
}
