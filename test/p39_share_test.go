package codemode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/hostfns"
)

// What one principal writes into the record has a share. Its programs learn when there is room again; nothing of a call
// beyond the share is sent, and other principals go on.
func TestP39_9TheShareOfARecordEndsInALimitError(t *testing.T) {
	t.Parallel()
	const config = `{"store": {"share": "1MiB"}, "evaluation": {"profiles": {"p": {"allowlist": ["time__now"],
		"asklist": ["filesystem__*"], "limits": {"calls": 100000, "wall": "5m", "cpu": "60s"}}}}}`
	// It makes calls until one is refused.
	const hammer = `
		for (let n = 0; n < 20000; n++) {
			try { await codemode.time__now({}) } catch (e) {
				if (e.name !== "LimitError") throw e
				for (let i = 0; i < 1000; i++) await codemode.time__now({}).catch(() => 1)
				const asked = await codemode.filesystem__write_file({path: "new.md", content: "x"}).catch((e) => e.name)
				return [n, e.budget, e.retryAfter > 0 && e.retryAfter < 7200, Date.parse(e.until) > Date.now(), asked]
			}
		}`
	for _, unchecked := range []bool{false, true} {
		t.Run(fmt.Sprintf("unchecked %v", unchecked), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e := open(t, config, recorded(dir))
			run := func(principal, code string, unchecked bool) (string, error) {
				r, err := e.Eval(t.Context(), codemode.Request{Principal: principal, Unchecked: unchecked, Profile: "p", Code: code})
				if err != nil {
					return "", err
				}
				return string(r.Value), nil
			}
			got, err := run("anna", hammer, unchecked)
			if err != nil || !strings.HasSuffix(got, `,"record",true,true,"LimitError"]`) {
				t.Fatalf("got %s (%v)", got, err)
			}
			var made []any
			if err := json.Unmarshal([]byte(got), &made); err != nil || made[0].(float64) < 100 {
				t.Errorf("a share of 1 MiB has room for %v calls", made)
			}
			other := "anna"
			if unchecked {
				other = "invented"
			}
			for range 100 {
				_, err = run(other, "return 1", unchecked)
				var full *hostfns.LimitError
				if !errors.As(err, &full) || full.Budget != "record" || full.Until.Before(time.Now()) ||
					!strings.HasPrefix(err.Error(), "not started: ") {
					t.Fatalf("a new run: %v", err)
				}
			}
			for range 20 {
				if got, err := run("bert", "await codemode.time__now({}); return 1", false); err != nil || got != "1" {
					t.Fatalf("another principal: %s (%v)", got, err)
				}
			}
			if err := e.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			counts, sent := map[string]int{}, 0
			for _, e := range readRecord(t, dir) {
				counts[e.Kind+" "+e.State]++
				if e.Tool == "time__now" && e.State == "ok" && e.Principal == "anna" {
					sent++
				}
				if e.State == "left out" && e.Tools["run refused"] != 100 {
					t.Errorf("counted %v", e.Tools)
				}
			}
			if sent != int(made[0].(float64)) || counts["notice left out"] != 1 || counts["notice share"] != 1 ||
				counts["run running"] != counts["run ok"] || counts["run refused"] != 0 || counts["call pending"] != 0 {
				t.Errorf("%d calls were made, %v returned; the record has %v", sent, made[0], counts)
			}
		})
	}
}
