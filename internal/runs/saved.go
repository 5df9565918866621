package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/store"
)

// storeWait bounds how long parking and claiming wait for the database.
const storeWait = 10 * time.Second

// A savedRun is the stored state that another process needs of a run, besides its image.
type savedRun struct {
	V       int             `json:"v"`
	Request Request         `json:"request"`
	Started time.Time       `json:"started"`
	Waited  time.Duration   `json:"waited"`
	Under   savedRules      `json:"under"`
	Gate    json.RawMessage `json:"gate"`
}

const savedVersion = 2

// readSaved reads the stored state of a run. State of another version is an error.
func readSaved(row *store.ParkedRun) (savedRun, error) {
	var s savedRun
	if err := json.Unmarshal(row.State, &s); err != nil {
		return savedRun{}, fmt.Errorf("reading the saved run: %w", err)
	}
	if s.V != savedVersion {
		return savedRun{},
			fmt.Errorf("the run was saved by another version of codemode (state %d, this one reads %d): end it with "+
				"the version that started it, or let it expire", s.V, savedVersion)
	}
	return s, nil
}

// savedRules identify the rules that decide calls and the servers that receive them. A process resumes a run only if
// both are the same there: it may share the database and have another configuration.
type savedRules struct {
	Digest string `json:"digest"` // of the profile
	// of the configuration; the profile in it may change while a run waits
	File    string            `json:"file,omitempty"`
	Servers map[string]string `json:"servers,omitempty"` // the identity of each server, by name
}

func saveRules(rules *inforce.Rules, p *inforce.Policy) savedRules {
	r := savedRules{Digest: p.Digest(), Servers: rules.Now().Identities()}
	if cfg := rules.Config(); cfg != nil {
		r.File = cfg.Path
	}
	return r
}

// same reports whether a run that began under r may resume under now.
func (r savedRules) same(now savedRules) bool {
	return (r.Digest == now.Digest || r.File == now.File && r.File != "") && maps.Equal(r.Servers, now.Servers)
}

// saved makes the row of the run for the store.
func (x *execution) saved(ctx context.Context, image []byte) (*store.ParkedRun, error) {
	gate, err := x.run.Save()
	if err != nil {
		return nil, err
	}
	r := x.request
	state, err := json.Marshal(savedRun{
		V: savedVersion, Request: r, Started: x.started, Waited: x.asking.Patience.Used(), Gate: gate,
		Under: saveRules(x.e.rules, x.policy),
	})
	if err != nil {
		return nil, err
	}
	row := &store.ParkedRun{
		Run: x.resp.Run, Principal: r.Principal, Profile: cmp.Or(r.Profile, x.policy.ProfileName()),
		Guest: x.engine.Hash(),
		State: state, Image: image, Holder: holder(), Expires: time.Now().Add(approvals.DefaultTimeout),
	}
	if x.row != nil {
		row.Claim, row.Round = x.row.Claim, x.row.Round
	}
	db, err := x.e.record.DB(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := db.Approvals.Of(ctx, row.Run)
	for _, a := range asked {
		if a.Validated == nil && a.Expires.After(row.Expires) {
			row.Expires = a.Expires
		}
	}
	return row, err
}

// holder names this process in the store.
func holder() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", cmp.Or(host, "?"), os.Getpid())
}

// waitingCalls lists the calls of a saved run that wait for a person.
func waitingCalls(row *store.ParkedRun) ([]int, error) {
	state, err := readSaved(row)
	if err != nil {
		return nil, err
	}
	return hostfns.Waiting(state.Gate)
}

// claim makes sure that calls of the run continue in this process and in no other. The Gate asks before it uses the
// answers of people.
func (x *execution) claim(ctx context.Context, calls []int) error {
	x.seat.stopWaiting(calls) // cancels an attempt to park
	x.parking.Lock()
	defer x.parking.Unlock()
	x.seat.stopWaiting(calls)
	if x.row == nil || x.row.Phase != store.Claimed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	db, err := x.e.record.DB(ctx)
	if err == nil {
		err = db.Runs.Begin(ctx, x.row)
	}
	if errors.Is(err, store.ErrTaken) {
		x.abandon()
	}
	return err
}

// abandon ends the run in this process, because another one has it. This process then records no end of the run, not
// even if it was canceled before.
func (x *execution) abandon() {
	x.given.Store(true)
	x.cancel(errTakenOver)
}

// leaving reports whether another process has the run or may take it. Its calls may learn of that later.
func (x *execution) leaving() bool {
	return x.given.Load() || errors.Is(context.Cause(x.ctx), approvals.ErrLeaving)
}

// endWhenLost ends the run here when another process takes it.
func (x *execution) endWhenLost(row *store.ParkedRun) {
	x.e.life.Background(func() {
		select {
		case <-row.Lost:
			x.abandon()
		case <-x.calls.Done():
		}
	})
}
