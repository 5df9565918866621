package process

import (
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Results is the key "results": what is kept of values and console outputs that do not fit into a reply, and of the
// images, audio and files that programs keep.
//
// The key is false to keep nothing.
type Results struct {
	Off  bool          `alone:"false"`
	Keep time.Duration `key:"keep" usual:"24h" max:"720h"` // How long a result is kept, at most 720h. 24h if left out.
	// The largest value that a program may return, as JSON, at most 256MiB. 32MiB if left out.
	Largest int64 `key:"largest" usual:"32MiB" form:"capacity" max:"256MiB"`
	// All results of one principal together; the oldest make way for a new one. 256MiB if left out.
	Bytes int64 `key:"bytes" usual:"256MiB" form:"capacity"`
	// How many results of one principal; the oldest make way for a new one. 1000 if left out.
	Number int `key:"number" usual:"1000"`
}

// Check reports sizes that contradict each other.
func (x *Results) Check(r *settings.Reader, n strictjson.Value, _ string) {
	fits(r, n, "results", x.Largest, x.Bytes)
}

// Sessions is the key "sessions": whether programs may go on where another one ended, and what is kept of that.
//
// The key is false to have no sessions. Without the key there are sessions, which MCP clients are not offered: what
// describes them costs a model tokens. It is true for an object without members.
type Sessions struct {
	Off     bool `alone:"false"`
	Offered bool `alone:"true"` // to MCP clients
	// How long a session is kept after its last use, at most 2160h. 168h if left out.
	Keep time.Duration `key:"keep" usual:"168h" max:"2160h"`
	// The largest version of a session: what a program leaves beyond it is not kept. 16MiB if left out.
	Largest int64 `key:"largest" usual:"16MiB" form:"capacity"`
	// All versions of all sessions of one principal together; the oldest versions of a session make way for its new one.
	// 256MiB if left out.
	Bytes  int64 `key:"bytes" usual:"256MiB" form:"capacity"`
	Number int   `key:"number" usual:"100"` // The sessions of one principal. 100 if left out.
	// The versions of one session that are kept, at most 1000; the oldest make way. 20 if left out.
	Versions int `key:"versions" usual:"20" max:"1000"`
}

// Check reports sizes that contradict each other.
func (x *Sessions) Check(r *settings.Reader, n strictjson.Value, _ string) {
	x.Offered = !x.Off
	fits(r, n, "sessions", x.Largest, x.Bytes)
}

// fits reports a largest size of one that is more than all may have together.
func fits(r *settings.Reader, n strictjson.Value, key string, largest, all int64) {
	if largest <= all || all == 0 {
		return
	}
	at, hint := settings.Member(n, "largest"), `lower it, or raise "bytes"`
	if at.Kind() == strictjson.Missing {
		at, hint = settings.Member(n, "bytes"), `raise it, or lower "largest"`
	}
	r.Wrong(at, hint, `"largest" is %d bytes, and all %s of a principal may have %d: none of that size would be kept`,
		largest, key, all)
}
