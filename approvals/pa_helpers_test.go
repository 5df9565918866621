package approvals

import (
	"strings"
	"time"
)

// refusedArgs are arguments that two JSON readers may take for two different things.
var refusedArgs = []string{
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "{", `{"a":}`, "1 2", "{\"a\":\"\xff\"}", "\"\xed\xa0\x80\"", `{"a":"\ud800"}`,
	`{"\udc00":1}`,
	`"\udc00\ud800"`, `{"a":1e400}`, `1E99999999999999999999`, strings.Repeat("[", 65) + strings.Repeat("]", 65),
}

var someday = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
