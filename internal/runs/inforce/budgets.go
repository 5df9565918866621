package inforce

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/store"
)

// A BudgetRecord may have a database.
type BudgetRecord interface {
	Keeps() bool
	DB(ctx context.Context) (*store.DB, error)
	// Full is the error of an owner whose share of the record is used up.
	Full(owner string) error
}

// Budgets count what calls use of a minute, an hour or a day, in all runs together, and refuse what does not fit: see
// [config.Budget]. The Gate charges a call right before it is sent. Many goroutines may call their methods.
//
// Counts are exact. With a database they are in it, for all processes that share it; without one they are the
// process's. A call that is counted and then cannot be recorded is not sent, and stays counted. An upstream's answer is
// known only when it is there: its bytes count, and it is given to the program even if it is beyond the budget.
type Budgets struct {
	Record BudgetRecord          // nil, or one that keeps no record, keeps counts in memory
	Config func() *config.Config // required: the configuration in force; it may return nil
	Log    *slog.Logger          // required

	memory usedWindows
	full   fullWindows
}

// A budgetPart is what one budget counts for one call.
type budgetPart struct {
	budget *config.Budget
	whose  string // in words, for messages
	window store.Window
	n      int64
}

// parts are those of a call. after says that the call was answered, and c has the answer's bytes.
func (k *Budgets) parts(c *call.Charge, now time.Time, after bool) (all []budgetPart) {
	cfg := k.Config()
	budgets := cfg.Budgets()
	for i := range budgets {
		b := &budgets[i]
		if b.Tool != nil && !b.Tool.Match(c.Tool.Name) || b.Profile != "" && b.Profile != c.Profile {
			continue
		}
		n := int64(1)
		switch {
		case b.Counts == "bytes":
			n = c.Bytes
		case after, b.Counts == "writes" && c.Tool.ReadOnly() && cfg.Believes(c.Tool.Server):
			continue
		}
		began := now.UTC().Truncate(b.Window())
		p := budgetPart{budget: b, n: n, window: store.Window{Began: began, Ends: began.Add(b.Window()), Most: b.Most}}
		name := []string{b.ID, b.Every}
		var whose []string
		for _, each := range b.Each {
			value := map[string]string{"principal": c.Principal, "profile": c.Profile, "server": c.Tool.Server,
				"tool": c.Tool.Name}[each]
			name = append(name, each, value)
			if each == "principal" {
				value = cmp.Or(value, "everybody without a name")
			}
			whose = append(whose, each+" "+value)
		}
		js, _ := json.Marshal(name) // strings have JSON
		p.window.Name, p.whose = string(js), strings.Join(whose, ", ")
		all = append(all, p)
	}
	return all
}

// refusal is the error of a part without room.
func (p *budgetPart) refusal() error {
	whose := ""
	if p.whose != "" {
		whose = " for " + p.whose
	}
	return &hostfns.LimitError{Budget: p.budget.ID, Until: p.window.Ends,
		Limit: fmt.Sprintf("the budget %q (%d %s a %s%s) has no room for it until %s", p.budget.ID, p.budget.Most,
			p.budget.Counts, p.budget.Every, whose, p.window.Ends.Format(time.RFC3339))}
}

// Full returns the error of Charge, as far as it is known already. It counts nothing.
func (k *Budgets) Full(c *call.Charge) error {
	if k.Record != nil {
		if err := k.Record.Full(c.Principal); err != nil {
			return err
		}
	}
	return k.known(k.parts(c, time.Now(), false))
}

// known returns the error for a part that is known to have no room.
func (k *Budgets) known(all []budgetPart) error {
	for _, p := range all {
		if p.n > p.window.Most || k.full.has(&p) {
			return p.refusal()
		}
	}
	return nil
}

// Charge counts a call that is about to be sent. After an error nothing is counted: [*hostfns.LimitError] says that the
// call does not fit, and any other error that it cannot be counted.
func (k *Budgets) Charge(ctx context.Context, c *call.Charge) error {
	parts := k.parts(c, time.Now(), false)
	if err := k.known(parts); err != nil {
		return err
	}
	var all []budgetPart
	for _, p := range parts {
		if p.n > 0 {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	at, err := k.charge(ctx, all)
	if err != nil {
		return fmt.Errorf("counting what is left of a budget: %w", err)
	}
	if at < 0 {
		return nil
	}
	k.full.put(&all[at])
	return all[at].refusal()
}

// Answered counts the bytes of the answer to a call that was charged.
func (k *Budgets) Answered(ctx context.Context, c *call.Charge) {
	var all []budgetPart
	for _, p := range k.parts(c, time.Now(), true) {
		if p.window.Most = math.MaxInt64; p.n > 0 {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	if _, err := k.charge(ctx, all); err != nil {
		k.Log.Error("the bytes of an answer are not counted", "tool", c.Tool.Name, "error", err)
	}
}

// afterwards bounds the counting of an answer, which the end of its run does not cancel.
const afterwards = 5 * time.Second

// charge returns the index of a part without room, else -1.
func (k *Budgets) charge(ctx context.Context, all []budgetPart) (full int, err error) {
	amounts, windows := make([]int64, len(all)), make([]store.Window, len(all))
	for i, p := range all {
		amounts[i], windows[i] = p.n, p.window
	}
	if k.Record == nil || !k.Record.Keeps() {
		return k.memory.charge(amounts, windows), nil
	}
	db, err := k.Record.DB(ctx)
	if err != nil {
		return -1, err
	}
	return db.Budgets.Charge(ctx, amounts, windows)
}

// usedWindows count for a process without a database.
type usedWindows struct {
	mu   sync.Mutex
	used map[string]*usedWindow
	last time.Time // of sweep
}

type usedWindow struct {
	began, ends time.Time
	used        int64
}

func (m *usedWindows) charge(amounts []int64, windows []store.Window) (full int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(time.Now())
	for i, w := range windows {
		if used := m.at(w).used; amounts[i] > w.Most-used {
			return i
		}
	}
	for i, w := range windows {
		m.at(w).used += amounts[i]
	}
	return -1
}

// at returns the count of a window. The caller holds the lock.
func (m *usedWindows) at(w store.Window) *usedWindow {
	u := m.used[w.Name]
	if u == nil || u.began.Before(w.Began) {
		u = &usedWindow{began: w.Began, ends: w.Ends}
		if m.used == nil {
			m.used = map[string]*usedWindow{}
		}
		m.used[w.Name] = u
	}
	return u
}

// windowsKept is how long after its end a window is removed: the clock may be set back into it.
const windowsKept = 24 * time.Hour

// sweep removes windows that ended long ago. The caller holds the lock.
func (m *usedWindows) sweep(now time.Time) {
	if now.Sub(m.last) < time.Minute {
		return
	}
	m.last = now
	for name, u := range m.used {
		if !u.ends.Add(windowsKept).After(now) {
			delete(m.used, name)
		}
	}
}

// fullWindows remember windows without room: a program that goes on calling costs no database anything.
type fullWindows struct {
	mu  sync.Mutex
	all map[string]budgetPart
}

// mostFull bounds what is remembered.
const mostFull = 10_000

func (f *fullWindows) put(p *budgetPart) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if len(f.all) >= mostFull {
		for name, old := range f.all {
			if len(f.all) >= mostFull/2 || !old.window.Ends.After(now) {
				delete(f.all, name)
			}
		}
	}
	if f.all == nil {
		f.all = map[string]budgetPart{}
	}
	f.all[p.window.Name] = *p
}

// has reports whether a window is known to have no room. A limit that was raised is looked up again.
func (f *fullWindows) has(p *budgetPart) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.all[p.window.Name]
	return ok && known.window.Began.Equal(p.window.Began) && p.n >= known.n && p.window.Most <= known.window.Most
}
