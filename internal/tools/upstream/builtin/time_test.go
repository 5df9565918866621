package builtin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheBuiltInTime(t *testing.T) {
	server := timeServer(func() time.Time { return time.Date(2026, 11, 20, 23, 30, 0, 5e6, time.UTC) })
	for _, row := range []struct{ tool, args, want string }{
		{"now", `{}`, `{"iso":"2026-11-20T23:30:00.005Z","unix_ms":1795217400005,"timezone":"UTC","offset":"+00:00","date":"2026-11-20","time":"23:30:00","weekday":"Friday"}`},
		{"now", `{"timezone":"Asia/Tokyo"}`,
			`{"iso":"2026-11-21T08:30:00.005+09:00","unix_ms":1795217400005,"timezone":"Asia/Tokyo","offset":"+09:00","date":"2026-11-21","time":"08:30:00","weekday":"Saturday"}`},
		{"now", `{"timezone":"Mars/Base"}`, `error: unknown timezone "Mars/Base"`},
		{"now", `{"timezone":"Local"}`, `error: unknown timezone "Local"`},
		{"now", `{"timezone":"../etc/passwd"}`, `error: unknown timezone`},
		{"convert", `{"time":"2026-07-01T12:00:00+02:00","to":"America/New_York"}`,
			`{"iso":"2026-07-01T06:00:00.000-04:00","unix_ms":1782900000000,"timezone":"America/New_York","offset":"-04:00","date":"2026-07-01","time":"06:00:00","weekday":"Wednesday"}`},
		{"convert", `{"time":"2026-07-01 12:00","from":"Europe/Berlin","to":"UTC"}`,
			`{"iso":"2026-07-01T10:00:00.000Z","unix_ms":1782900000000,"timezone":"UTC","offset":"+00:00","date":"2026-07-01","time":"10:00:00","weekday":"Wednesday"}`},
		{"convert", `{"time":"noon","to":"UTC"}`, `error: "noon" is no time`},
		{"convert", `{"time":"2026-02-30","to":"UTC"}`, `error: is no time`},
	} {
		for _, tool := range server.Tools {
			if tool.Name != row.tool {
				continue
			}
			v, err := tool.Call(t.Context(), json.RawMessage(row.args))
			if part, wantErr := strings.CutPrefix(row.want, "error: "); wantErr {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s %s: got %v, want an error with %q", row.tool, row.args, err, part)
				}
			} else if got := string(marshal(t, v)); err != nil || got != row.want {
				t.Errorf("%s %s:\n got  %s, %v\n want %s", row.tool, row.args, got, err, row.want)
			}
		}
	}
}
