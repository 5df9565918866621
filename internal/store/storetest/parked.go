package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// dies makes the process that has d look dead to the others, after they have observed it long enough.
func dies(t *testing.T, silence func(*store.DB), at *clock, d *store.DB, others ...*store.DB) {
	t.Helper()
	silence(d)
	for range 30 {
		for _, o := range others {
			_, _, err := o.Runs.List(t.Context())
			must(t, err)
		}
		at.forward(time.Second)
	}
}

func parkedRun(ends time.Time, change func(*store.ParkedRun)) *store.ParkedRun {
	p := &store.ParkedRun{Run: "r_1", Principal: "local:anna", Profile: "safe", Guest: "sha256:g",
		State: json.RawMessage(`{"calls":[]}`), Image: []byte("round 1"), Expires: ends}
	if change != nil {
		change(p)
	}
	return p
}

func park(t *testing.T, d *store.DB, ends time.Time, change func(*store.ParkedRun)) *store.ParkedRun {
	t.Helper()
	p := parkedRun(ends, change)
	must(t, d.Runs.Park(t.Context(), p))
	return p
}

func unpark(t *testing.T, d *store.DB, by string) *store.ParkedRun {
	t.Helper()
	p, err := d.Runs.Unpark(t.Context(), "r_1", by)
	must(t, err)
	return p
}

// claimable checks which runs a process can claim.
func claimable(t *testing.T, d *store.DB, want ...string) {
	t.Helper()
	got := []string{}
	all, _, err := d.Runs.List(t.Context())
	must(t, err)
	for _, p := range all {
		got = append(got, p.Run)
	}
	if !slices.Equal(got, append([]string{}, want...)) {
		t.Fatalf("the runs %v can be claimed, want %v", got, want)
	}
}

func cannotUnpark(t *testing.T, d *store.DB, why string) {
	t.Helper()
	if p, err := d.Runs.Unpark(t.Context(), "r_1", "somebody else"); !errors.Is(err, store.ErrTaken) {
		t.Fatalf("%s: got %+v and the error %v, want %v", why, p, err, store.ErrTaken)
	}
}

func resumedOnce(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	image := make([]byte, 50_000)
	for i := range image {
		image[i] = byte(i * 7)
	}
	park(t, d, time.Now().Add(time.Hour), func(p *store.ParkedRun) { p.Image = image })
	is(t, e.Runs.Park(t.Context(), parkedRun(time.Now().Add(time.Hour), nil)), store.ErrTaken)
	claimable(t, e, "r_1")
	var got atomic.Pointer[store.ParkedRun]
	var wins atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			db := []*store.DB{d, e}[i%2]
			run, err := db.Runs.Unpark(t.Context(), "r_1", fmt.Sprint("replica ", i))
			if err == nil {
				err = db.Runs.Begin(t.Context(), run)
			}
			switch {
			case err == nil:
				wins.Add(1)
				got.Store(run)
			case !errors.Is(err, store.ErrTaken):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if run := got.Load(); wins.Load() != 1 || !slices.Equal(run.Image, image) || string(run.State) != `{"calls":[]}` ||
		run.Guest != "sha256:g" || run.Phase != store.Going {
		t.Fatalf("resumed %d times, as %+v", wins.Load(), run)
	}
	claimable(t, d)
	must(t, d.Outcomes.Finish(t.Context(), got.Load(), &store.Outcome{Run: "r_1", Expires: time.Now().Add(time.Hour)}))
	cannotUnpark(t, d, "a run that is over")
}

func takenOver(t *testing.T, open opener, silence func(*store.DB)) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	ends := at.Now().Add(time.Hour)
	park(t, d, ends, nil)
	slow := unpark(t, d, "slow")
	if slow.Image != nil {
		t.Fatal("a claim gives the image")
	}
	cannotUnpark(t, e, "a claim that is new")
	claimable(t, e)
	at.forward(time.Hour / 2)
	cannotUnpark(t, e, "a claim that nobody looked at, however long the clock says that was")
	dies(t, silence, at, d, e)
	claimable(t, e, "r_1")
	claimable(t, d) // it is not dead to itself
	var began atomic.Int32
	var wg sync.WaitGroup
	wg.Go(func() {
		switch err := d.Runs.Begin(t.Context(), slow); {
		case err == nil:
			began.Add(1)
		case !errors.Is(err, store.ErrTaken):
			t.Error(err)
		}
	})
	for i := range 8 {
		wg.Go(func() {
			next, err := e.Runs.Unpark(t.Context(), "r_1", fmt.Sprint("next ", i))
			if err == nil {
				err = e.Runs.Begin(t.Context(), next)
			}
			switch {
			case err == nil:
				began.Add(1)
			case !errors.Is(err, store.ErrTaken):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if began.Load() != 1 {
		t.Fatalf("%d processes went on with one run", began.Load())
	}
}

func begunOnce(t *testing.T, open opener, silence func(*store.DB)) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	park(t, d, at.Now().Add(time.Hour), nil)
	p := unpark(t, d, "first")
	must(t, d.Runs.Begin(t.Context(), p))
	if string(p.Image) != "round 1" {
		t.Fatalf("the image is %q", p.Image)
	}
	is(t, d.Runs.Begin(t.Context(), p), store.ErrTaken)
	is(t, d.Runs.GiveBack(t.Context(), p), store.ErrTaken)
	claimable(t, e)
	dies(t, silence, at, d, e)
	claimable(t, e)
	cannotUnpark(t, e, "a run that began in a process that died")
}

func kept(t *testing.T, open opener, silence func(*store.DB)) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	p := park(t, d, at.Now().Add(time.Hour), func(p *store.ParkedRun) { p.Holder = "home" })
	if p.Phase != store.Claimed || p.Claim == "" {
		t.Fatalf("parked as %+v", p)
	}
	cannotUnpark(t, e, "a run that its process keeps")
	dies(t, silence, at, d, e)
	next := unpark(t, e, "another")
	is(t, d.Runs.Begin(t.Context(), p), store.ErrTaken)
	must(t, e.Runs.Begin(t.Context(), next))
}

func rounds(t *testing.T, open opener) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	ends := at.Now().Add(time.Hour)
	park(t, d, ends, nil)
	p := unpark(t, d, "first")
	again := parkedRun(ends, func(n *store.ParkedRun) { n.Claim, n.Round, n.Image = p.Claim, p.Round, []byte("round 2") })
	is(t, d.Runs.Park(t.Context(), again), store.ErrTaken) // the claimed run has not begun
	must(t, d.Runs.Begin(t.Context(), p))
	p.Image, p.Holder = []byte("round 2"), ""
	old := *p
	must(t, d.Runs.Park(t.Context(), p))
	if p.Round != 2 || p.Phase != store.Waiting || p.Claim != "" {
		t.Fatalf("parked again as %+v", p)
	}
	is(t, d.Runs.Park(t.Context(), &old), store.ErrTaken)
	next := unpark(t, e, "second")
	must(t, e.Runs.Begin(t.Context(), next))
	if string(next.Image) != "round 2" || next.Round != 2 {
		t.Fatalf("round %d goes on with %q", next.Round, next.Image)
	}
	is(t, d.Runs.Park(t.Context(), &old), store.ErrTaken)
	is(t, d.Runs.Begin(t.Context(), &old), store.ErrTaken)
}

func givenBack(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	park(t, d, time.Now().Add(time.Hour), nil)
	p := unpark(t, d, "without the upstream")
	must(t, d.Runs.GiveBack(t.Context(), p))
	is(t, d.Runs.Begin(t.Context(), p), store.ErrTaken)
	must(t, e.Runs.Begin(t.Context(), unpark(t, e, "another")))
}

func orphans(t *testing.T, open opener, silence func(*store.DB)) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	listed := func(want ...string) {
		t.Helper()
		got := []string{}
		_, all, err := e.Runs.List(t.Context())
		must(t, err)
		for _, p := range all {
			got = append(got, p.Run)
		}
		if !slices.Equal(got, append([]string{}, want...)) {
			t.Fatalf("the orphans are %v, want %v", got, want)
		}
	}
	park(t, d, at.Now().Add(2*time.Hour), nil)
	begun := unpark(t, d, "first")
	must(t, d.Runs.Begin(t.Context(), begun))
	at.forward(time.Second)
	park(t, d, at.Now().Add(time.Hour), func(p *store.ParkedRun) { p.Run = "r_2" })
	at.forward(time.Second)
	park(t, d, at.Now().Add(time.Hour), func(p *store.ParkedRun) { p.Run, p.Holder = "r_3", "first" })
	listed()
	forPeople := func(want ...string) {
		t.Helper()
		all, err := e.Runs.Stored(t.Context(), 10)
		must(t, err)
		got := []string{}
		for _, p := range all {
			got = append(got, fmt.Sprint(p.Run, " ", p.Phase, " of ", p.Holder))
			if p.Principal != "local:anna" || p.Profile != "safe" || p.Created.IsZero() || p.State != nil || p.Image != nil {
				t.Errorf("listed as %+v", p)
			}
		}
		if !slices.Equal(got, append([]string{}, want...)) {
			t.Fatalf("the runs for people are %q, want %q", got, want)
		}
	}
	forPeople("r_3 1 of first", "r_2 0 of ", "r_1 2 of first")
	if some, err := e.Runs.Stored(t.Context(), 1); err != nil || len(some) != 1 || some[0].Run != "r_3" {
		t.Fatalf("the latest is %v, %v", some, err)
	}
	_, err := e.Runs.Reap(t.Context(), "r_1", "early")
	is(t, err, store.ErrTaken)
	dies(t, silence, at, d, e)
	listed("r_1")
	forPeople("r_3 1 of ", "r_2 0 of ", "r_1 2 of ")
	at.forward(time.Hour)
	dies(t, silence, at, d, e)
	listed("r_1", "r_2", "r_3")
	var reaped atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			switch p, err := e.Runs.Reap(t.Context(), "r_1", fmt.Sprint("reaper ", i)); {
			case err == nil:
				reaped.Add(1)
				is(t, d.Runs.Park(t.Context(), begun), store.ErrTaken) // it was not dead, and learns of it
				must(t, e.Outcomes.Finish(t.Context(), p, &store.Outcome{Run: p.Run, State: "lost", Expires: at.Now().Add(time.Hour)}))
			case !errors.Is(err, store.ErrTaken):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if reaped.Load() != 1 {
		t.Fatalf("a run was ended %d times", reaped.Load())
	}
	is(t, d.Outcomes.Finish(t.Context(), begun, &store.Outcome{Run: "r_1", State: "ok", Expires: at.Now().Add(time.Hour)}),
		store.ErrTaken)
	listed("r_2", "r_3")
	f := open(at.Now)
	_, err = f.Runs.Reap(t.Context(), "r_2", "the reaper that dies")
	must(t, err)
	listed("r_3")
	dies(t, silence, at, f, e)
	listed("r_2", "r_3")
}

func outcomes(t *testing.T, open opener) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	changed, stop := e.Watch(store.Outcomes)
	defer stop()
	outcome := &store.Outcome{Run: "r_1", Principal: "local:anna", State: "ok", Body: json.RawMessage(`{"value":42}`),
		Expires: at.Now().Add(time.Hour)}
	park(t, d, at.Now().Add(time.Hour), nil)
	p := unpark(t, d, "first")
	is(t, e.Outcomes.Finish(t.Context(), nil, outcome), store.ErrTaken) // another process has it
	must(t, d.Runs.Begin(t.Context(), p))
	is(t, e.Outcomes.Finish(t.Context(), &store.ParkedRun{Run: "r_1", Claim: "another"}, outcome), store.ErrTaken)
	_, err := e.Outcomes.Get(t.Context(), "r_1", "")
	is(t, err, store.ErrNotFound)
	must(t, d.Outcomes.Finish(t.Context(), p, outcome))
	_, err = e.Runs.Get(t.Context(), "r_1")
	is(t, err, store.ErrNotFound)
	o, err := e.Outcomes.Get(t.Context(), "r_1", "local:anna")
	must(t, err)
	if o.State != "ok" || string(o.Body) != `{"value":42}` || !o.Created.Equal(at.Now()) {
		t.Fatalf("the outcome is %+v", o)
	}
	_, err = e.Outcomes.Get(t.Context(), "r_1", "local:bert")
	is(t, err, store.ErrNotFound)
	is(t, d.Outcomes.Finish(t.Context(), nil, &store.Outcome{Run: "r_1", State: "failed", Expires: at.Now()}), store.ErrTaken)
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("another process did not hear of the outcome")
	}
	// Anybody can end a waiting run: its client has canceled it.
	park(t, d, at.Now().Add(time.Hour), func(p *store.ParkedRun) { p.Run = "r_2" })
	must(t, e.Outcomes.Finish(t.Context(), nil, &store.Outcome{Run: "r_2", State: "canceled", Expires: at.Now().Add(time.Hour)}))
	claimable(t, d)
}

// bounded checks that the oldest outcomes of a principal are removed for new ones, by number and by bytes.
func bounded(t *testing.T, open opener, few func(*store.DB, int)) {
	const most = 20
	at := newClock()
	d := open(at.Now)
	few(d, most)
	n := 0
	finish := func(principal, body string, shared bool) {
		n++
		at.forward(time.Second)
		must(t, d.Outcomes.Finish(t.Context(), nil, &store.Outcome{Run: fmt.Sprintf("r_%d", n), Principal: principal, State: "ok",
			Body:    json.RawMessage(body),
			Expires: at.Now().Add(24 * time.Hour), Shared: shared}))
	}
	left := func(principal string) (all []*store.Outcome) {
		for i := range n {
			switch o, err := d.Outcomes.Get(t.Context(), fmt.Sprintf("r_%d", i+1), principal); {
			case err == nil:
				all = append(all, o)
			case !errors.Is(err, store.ErrNotFound):
				t.Fatal(err)
			}
		}
		return all
	}
	finish("bert", `{}`, false)
	for range most + 3 {
		finish("anna", `{}`, false)
	}
	if all := left("anna"); len(all) != most || all[0].Run != "r_5" {
		t.Fatalf("%d outcomes of anna are left, the oldest is %s", len(all), all[0].Run)
	}
	large := `"` + strings.Repeat("x", maxOutcomeBytes/3) + `"`
	for range 4 {
		finish("anna", large, false)
	}
	if all := left("anna"); len(all) != 2 {
		t.Fatalf("%d outcomes of anna are left beside large ones", len(all))
	}
	finish("whoever", large, true)
	if anna, bert := left("anna"), left("bert"); len(anna) != 1 || len(bert) != 0 {
		t.Fatalf("where nobody is checked, %d outcomes of anna and %d of bert are left", len(anna), len(bert))
	}
	for i, principal := range []string{"anna", "anna", "bert"} {
		park(t, d, at.Now().Add(time.Hour), func(p *store.ParkedRun) {
			p.Run, p.Principal, p.Image = fmt.Sprint("p_", i), principal, make([]byte, 1000)
		})
	}
	for _, test := range []struct {
		all  bool
		runs int64
	}{{false, 2}, {true, 3}} {
		runs, bytes, err := d.Runs.Size(t.Context(), "anna", test.all)
		must(t, err)
		if runs != test.runs || bytes < 1000*runs || bytes > 1500*runs {
			t.Fatalf("%d runs with %d bytes", runs, bytes)
		}
	}
}

func fetched(t *testing.T, open opener) {
	at := newClock()
	d := open(at.Now)
	must(t, d.Outcomes.Finish(t.Context(), nil, &store.Outcome{Run: "r_1", Principal: "local:anna", State: "ok",
		Body: json.RawMessage(`{}`), Expires: at.Now().Add(time.Minute)}))
	at.forward(time.Hour)
	for range 2 {
		_, err := d.Outcomes.Get(t.Context(), "r_1", "")
		must(t, err)
	}
	c, err := d.Clean(t.Context(), time.Minute)
	must(t, err)
	if c[store.Outcomes] != 1 {
		t.Fatalf("cleaned %+v", c)
	}
}

func seats(t *testing.T, open opener, silence func(*store.DB)) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	seated := func(channel string, want bool, why string) {
		t.Helper()
		got, err := e.Seats.Seated(t.Context(), channel)
		must(t, err)
		if got != want {
			t.Fatalf("%s: somebody is there: %v, want %v", why, got, want)
		}
	}
	changed, stop := e.Watch(store.Seats)
	defer stop()
	seated("web", false, "at the start")
	leave, err := d.Seats.Sit(t.Context(), "web")
	must(t, err)
	_, err = d.Seats.Sit(t.Context(), "web")
	must(t, err)
	seated("web", true, "two sit down")
	seated("desktop", false, "elsewhere")
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("another process did not hear of it")
	}
	leave()
	leave()
	seated("web", true, "one of them left")
	silence(d)
	for range 30 {
		_, err := e.Seats.Seated(t.Context(), "web")
		must(t, err)
		at.forward(time.Second)
	}
	seated("web", false, "their process died")
	_, err = e.Clean(t.Context(), time.Hour)
	must(t, err)
	own, err := e.Seats.Sit(t.Context(), "web")
	must(t, err)
	seated("web", true, "somebody sits here")
	own()
	seated("web", false, "and left")
}

func withdrawn(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	ends := time.Now().Add(time.Hour)
	for _, id := range []string{"a_1", "a_2", "a_3"} {
		propose(t, d, id, ends)
	}
	must(t, d.Approvals.Answer(t.Context(), "a_1", "sha256:ab", true, "anna", nil))
	is(t, e.Approvals.Withdraw(t.Context(), "a_1"), store.ErrTaken)
	must(t, e.Approvals.Withdraw(t.Context(), "a_2"))
	is(t, e.Approvals.Withdraw(t.Context(), "a_2"), store.ErrTaken)
	is(t, e.Approvals.Withdraw(t.Context(), "a_4"), store.ErrNotFound)
	is(t, d.Approvals.Answer(t.Context(), "a_2", "sha256:ab", true, "anna", nil), store.ErrTaken)
	must(t, e.Approvals.WithdrawRun(t.Context(), "r_1"))
	if pending, err := d.Approvals.Pending(t.Context(), ""); err != nil || len(pending) != 0 {
		t.Fatalf("pending: %v, %v", pending, err)
	}
	for id, closed := range map[string]bool{"a_1": false, "a_2": true, "a_3": true} {
		a, err := d.Approvals.Get(t.Context(), id)
		must(t, err)
		if a.Withdrawn.IsZero() == closed || (a.Validated != nil) == closed {
			t.Errorf("%s is %+v", id, a)
		}
	}
	must(t, d.Approvals.Use(t.Context(), "a_1", "sha256:ab"))
}

func insteadOnce(t *testing.T, open opener) {
	d, e := open(nil), open(nil)
	ends := time.Now().Add(time.Hour)
	propose(t, d, "a_1", ends)
	propose(t, d, "taken", ends)
	other := func(id string) *store.Approval {
		return &store.Approval{ID: id, Run: "r_1", Call: 3, Principal: "local:anna", Digest: "sha256:cd",
			Question: json.RawMessage(`{"tool":"fs__write","n":2}`), Expires: ends}
	}
	is(t, d.Approvals.AnswerInstead(t.Context(), "a_1", "sha256:ab", "anna", nil, other("taken"), nil), store.ErrTaken)
	if a, err := d.Approvals.Get(t.Context(), "a_1"); err != nil || a.Validated != nil {
		t.Fatalf("half of an answer was kept: %+v, %v", a, err)
	}
	var wins atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprint("b_", i)
			switch err := []*store.DB{d, e}[i%2].Approvals.AnswerInstead(t.Context(), "a_1", "sha256:ab", "anna",
				json.RawMessage(`{"edited":"`+id+`"}`), other(id), json.RawMessage(`{}`)); {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, store.ErrTaken):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Fatalf("%d answers counted", wins.Load())
	}
	a, err := e.Approvals.Get(t.Context(), "a_1")
	must(t, err)
	var no struct{ Edited string }
	must(t, json.Unmarshal(a.Answer, &no))
	if a.Validated == nil || *a.Validated {
		t.Fatalf("the question was answered with %+v", a)
	}
	is(t, d.Approvals.Use(t.Context(), "a_1", "sha256:ab"), store.ErrTaken)
	must(t, d.Approvals.Use(t.Context(), no.Edited, "sha256:cd"))
	is(t, e.Approvals.Use(t.Context(), no.Edited, "sha256:cd"), store.ErrTaken)
}

func manyAtOnce(t *testing.T, open opener) {
	processes := []*store.DB{open(nil), open(nil)}
	var wg sync.WaitGroup
	for i := range 120 {
		wg.Go(func() {
			d, id := processes[i%2], fmt.Sprint("a_", i)
			err := d.Approvals.Propose(t.Context(), &store.Approval{ID: id, Run: "r_1", Call: i, Digest: "sha256:ab",
				Question: json.RawMessage(`{}`), Expires: time.Now().Add(time.Hour)})
			err = errors.Join(err, d.Approvals.Answer(t.Context(), id, "sha256:ab", true, "anna", nil),
				d.Approvals.Use(t.Context(), id, "sha256:ab"))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// asksAlone checks that only the process that has a run asks about its calls.
func asksAlone(t *testing.T, open opener) {
	here, there := open(nil), open(nil)
	ends := time.Now().Add(time.Hour)
	n := 0
	ask := func(d *store.DB) error {
		n++
		return d.Approvals.Propose(t.Context(), &store.Approval{ID: fmt.Sprint("q_", n), Run: "r_1", Call: 1, Digest: "sha256:ab",
			Question: json.RawMessage(`{}`), Expires: ends})
	}
	only := func(when string, may, not *store.DB) {
		t.Helper()
		if may != nil {
			must(t, ask(may))
		}
		if err := ask(not); !errors.Is(err, store.ErrTaken) {
			t.Fatalf("%s the other process asked: %v", when, err)
		}
	}
	must(t, ask(here)) // before the run is stored, no other process knows of it
	p := park(t, here, ends, func(p *store.ParkedRun) { p.Holder = "here" })
	only("while the run is parked here,", here, there)
	must(t, here.Runs.GiveBack(t.Context(), p))
	only("while the run is nobody's,", nil, here)
	only("while the run is nobody's,", nil, there)
	taken := unpark(t, there, "there")
	only("after the run was claimed there,", there, here)
	must(t, there.Runs.Begin(t.Context(), taken))
	only("while the run goes on there,", there, here)
	must(t, there.Outcomes.Finish(t.Context(), taken, &store.Outcome{Run: "r_1", Expires: ends}))
	only("after the run has ended,", nil, here)
	only("after the run has ended,", nil, there)
}

// asksBefore checks that a process that claims a run finds each question that another process asks meanwhile.
func asksBefore(t *testing.T, open opener) {
	here, there := open(nil), open(nil)
	ends := time.Now().Add(time.Hour)
	for i := range 40 {
		run := fmt.Sprint("r_", i)
		p := park(t, here, ends, func(p *store.ParkedRun) { p.Run, p.Holder = run, "here" })
		var asked sync.WaitGroup
		for call := range 4 {
			asked.Go(func() {
				err := here.Approvals.Propose(t.Context(), &store.Approval{ID: fmt.Sprint(run, "_", call), Run: run, Call: call,
					Digest: "sha256:ab", Question: json.RawMessage(`{}`), Expires: ends})
				if err != nil && !errors.Is(err, store.ErrTaken) {
					t.Error(err)
				}
			})
		}
		must(t, here.Runs.GiveBack(t.Context(), p))
		_, err := there.Runs.Unpark(t.Context(), run, "there")
		must(t, err)
		found, err := there.Approvals.Of(t.Context(), run)
		must(t, err)
		asked.Wait()
		all, err := there.Approvals.Of(t.Context(), run)
		must(t, err)
		if len(found) != len(all) {
			t.Fatalf("%d questions were stored after the run was claimed", len(all)-len(found))
		}
	}
}

// keyed checks that an idempotency key names one run until some time after the run's end, even with concurrent
// requests.
func keyed(t *testing.T, open opener, silence func(*store.DB)) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	const id = "digest of the key"
	begin := func(on *store.DB, run string) (*store.ParkedRun, error) {
		p := parkedRun(at.Now().Add(time.Hour), func(p *store.ParkedRun) { p.Run, p.Image, p.Holder = run, nil, "host/1" })
		return p, on.Keys.Enroll(t.Context(), &store.Key{ID: id, Request: "digest of " + run, Run: run}, p)
	}
	_, err := e.Keys.Keyed(t.Context(), id)
	is(t, err, store.ErrNotFound)

	var began sync.Map
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			on := []*store.DB{d, e}[i%2]
			if p, err := begin(on, fmt.Sprint("r_", i)); err == nil {
				began.Store(p, on)
			} else {
				is(t, err, store.ErrTaken)
			}
		})
	}
	all.Wait()
	var first *store.ParkedRun
	var by *store.DB
	began.Range(func(p, on any) bool {
		if first != nil {
			t.Errorf("both %s and %s began", first.Run, p.(*store.ParkedRun).Run)
		}
		first, by = p.(*store.ParkedRun), on.(*store.DB)
		return true
	})
	if first == nil {
		t.Fatal("none of them began")
	}
	other := d
	if by == d {
		other = e
	}
	k, err := other.Keys.Keyed(t.Context(), id)
	must(t, err)
	if k.Run != first.Run || k.Request != "digest of "+first.Run {
		t.Fatalf("the key names %+v, and %s began", k, first.Run)
	}
	if runs, _, err := other.Runs.Size(t.Context(), "", true); err != nil || runs != 0 {
		t.Errorf("%d runs are taken for waiting (%v)", runs, err)
	}
	claimable(t, other)
	_, err = other.Runs.Reap(t.Context(), first.Run, "host/2") // it lives
	is(t, err, store.ErrTaken)
	at.forward(100 * time.Hour)
	_, err = begin(other, "r_again") // it is still running, however long that takes
	is(t, err, store.ErrTaken)

	dies(t, silence, at, by, other)
	p, err := other.Runs.Reap(t.Context(), first.Run, "host/2")
	must(t, err)
	_, err = begin(other, "r_again") // its end is being written
	is(t, err, store.ErrTaken)
	outcome := func(p *store.ParkedRun) *store.Outcome {
		return &store.Outcome{Run: p.Run, State: "ok", Body: json.RawMessage(`{}`), Expires: at.Now().Add(time.Hour)}
	}
	must(t, other.Outcomes.Finish(t.Context(), p, outcome(p)))
	is(t, by.Outcomes.Finish(t.Context(), first, outcome(first)), store.ErrTaken)
	_, err = begin(other, "r_again") // it has ended
	is(t, err, store.ErrTaken)
	at.forward(time.Hour)
	_, err = other.Keys.Keyed(t.Context(), id)
	is(t, err, store.ErrNotFound)
	again, err := begin(other, "r_again")
	must(t, err)
	must(t, other.Keys.Enroll(t.Context(), &store.Key{ID: "another", Run: "r_unkeyed"}, nil))
	is(t, other.Keys.Enroll(t.Context(), &store.Key{ID: "another", Run: "r_more"}, nil), store.ErrTaken)

	must(t, other.Outcomes.Finish(t.Context(), again, outcome(again)))
	at.forward(2 * time.Hour)
	c, err := other.Clean(t.Context(), time.Minute)
	must(t, err)
	if c[store.Outcomes] != 2 || c["keys"] != 1 {
		t.Errorf("cleaned %+v, want the key of what has ended, and not that of a run that goes on", c)
	}
}

// maxOutcomeBytes is the limit of the store.
const maxOutcomeBytes = 64 << 20

// F33, L07: of two replicas one has a clock that is an hour ahead, or was set forward and back. It takes no run from a
// living process, and neither has a budget twice.
func clocksApart(t *testing.T, open opener) {
	slow := open(nil)
	fast := open(func() time.Time { return time.Now().Add(time.Hour) })
	// To the other one it is over.
	park(t, slow, time.Now().Add(30*time.Minute), func(p *store.ParkedRun) { p.Holder = "slow/1" })
	for name, take := range map[string]func(ctx context.Context, run, by string) (*store.ParkedRun, error){
		"resumes it": fast.Runs.Unpark, "ends it": fast.Runs.Reap,
	} {
		if _, err := take(t.Context(), "r_1", "fast/1"); !errors.Is(err, store.ErrTaken) {
			t.Errorf("the process whose clock is ahead %s: %v", name, err)
		}
	}
	window := func(at time.Time) store.Window {
		began := at.UTC().Truncate(time.Hour)
		return store.Window{Name: "mine", Began: began, Ends: began.Add(time.Hour), Most: 10}
	}
	// One that is ahead and calls nothing does not forget what others count.
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for _, w := range []store.Window{
		{Name: "hour", Began: today, Ends: time.Now().Add(30 * time.Minute), Most: 1},
		{Name: "minute", Began: today, Ends: time.Now().Add(30 * time.Second), Most: 1},
	} {
		for _, want := range []int{-1, 0} {
			if full, err := slow.Budgets.Charge(t.Context(), []int64{1}, []store.Window{w}); err != nil || full != want {
				t.Errorf("the window %q with room for one is full at %d (%v), want %d", w.Name, full, err, want)
			}
			_, err := fast.Clean(t.Context(), time.Minute)
			must(t, err)
		}
	}
	counted := 0
	for range 20 {
		for d, at := range map[*store.DB]time.Time{slow: time.Now(), fast: time.Now().Add(time.Hour)} {
			if full, err := d.Budgets.Charge(t.Context(), []int64{1}, []store.Window{window(at)}); err != nil {
				t.Fatal(err)
			} else if full < 0 {
				counted++
			}
		}
	}
	if counted > 11 { // one was perhaps counted in the hour before the other one
		t.Errorf("a budget of 10 calls let %d through", counted)
	}
}
