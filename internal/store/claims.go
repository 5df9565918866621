package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// claims are the parked runs and seats that this process has, and the heartbeats of others.
//
// With an SQLite file, a process that has claims holds a lock file. The system unlocks it when the process ends, for
// any reason. With PostgreSQL, a process that has claims increments a number in their rows. If the number stands still
// for [silentFor], other processes consider the process dead. Each observer measures that time itself, while it
// observes. So the clocks of other machines do not matter, nor does this one's clock when it was asleep or set. A
// mistake costs at worst a run, and never runs one twice: see [ParkedRun].
type claims struct {
	now  func() time.Time
	path string // of the SQLite file; "" for PostgreSQL

	mu    sync.Mutex
	token string   // identifies this process in its claims
	lock  *os.File // SQLite: of the file named after token
	mine  map[string]*held
	seen  map[string]*sighting // PostgreSQL: of other processes, by claim
	told  map[string]bool      // the claims that were reported dead
}

type held struct {
	lost    chan struct{}
	settled bool // it is in the database, as far as this process knows
}

type sighting struct {
	beats    int64
	at, last time.Time // when the number changed, and when it was last read
}

const (
	// lookEvery is how often to check claims, and on PostgreSQL how often to increment them.
	lookEvery = time.Second
	// silentFor is how long a process may be silent before it counts as dead. blindFor is the longest gap between two
	// checks for that time to count.
	silentFor = 10 * time.Second
	blindFor  = 5 * time.Second
	// lockInfix separates the name of the SQLite file from the token of a process.
	lockInfix = "-process-"
)

// hold makes a claim of this process, which is not settled yet.
func (c *claims) hold(by string) (claim string, lost <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == "" {
		if err := c.begin(); err != nil {
			return "", nil, fmt.Errorf("making the lock file of this process: %w", err)
		}
	}
	claim = by + " " + c.token + "." + rand.Text()
	h := &held{lost: make(chan struct{})}
	c.mine[claim] = h
	return claim, h.lost, nil
}

// pattern matches, in SQL, the claims of this process and no others.
func (c *claims) pattern() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == "" {
		return "none" // a claim has a token
	}
	return "% " + c.token + ".%"
}

// begin chooses a token for this process, and on SQLite takes the lock that shows that it lives.
func (c *claims) begin() error {
	c.mine = map[string]*held{}
	if c.path == "" {
		c.token = rand.Text()
		return nil
	}
	c.sweep()
	for {
		token := rand.Text()
		lock, err := tryLock(c.path + lockInfix + token)
		if err != nil {
			return err
		}
		if lock == nil {
			continue // a sweeper is checking it
		}
		if _, err := os.Stat(lock.Name()); err != nil {
			lock.Close() // a sweeper was faster
			continue
		}
		c.token, c.lock = token, lock
		return nil
	}
}

// sweep removes the lock files of processes that ended.
func (c *claims) sweep() {
	names, _ := filepath.Glob(globEscape(c.path+lockInfix) + "*") // the pattern is never bad
	for _, name := range names {
		if lock, err := tryLock(name); err == nil && lock != nil {
			removed := os.Remove(name)
			lock.Close()
			if removed != nil { // some systems cannot remove an open file
				os.Remove(name)
			}
		}
	}
}

func globEscape(path string) string {
	if filepath.Separator == '\\' {
		return path // where escaping does not exist
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// end announces that this process has no claims any more.
func (c *claims) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock != nil {
		os.Remove(c.lock.Name())
		c.lock.Close()
		os.Remove(c.lock.Name())
	}
	c.lock, c.token, c.mine = nil, "", nil
}

// settle records whether a claim should be in the database.
func (c *claims) settle(claim string, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.mine[claim]; h != nil {
		h.settled = there
	}
}

func (c *claims) drop(claim string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mine, claim)
}

// held lists the claims of this process that should be in the database.
func (c *claims) held() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for claim, h := range c.mine {
		if h.settled {
			all = append(all, claim)
		}
	}
	return all
}

// lose tells the holder of a claim that it is lost, unless the holder gave it up meanwhile.
func (c *claims) lose(claim string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.mine[claim]; h != nil && h.settled {
		close(h.lost)
		delete(c.mine, claim)
	}
}

// see records a heartbeat.
func (c *claims) see(claim string, beats int64) {
	if c.path != "" || claim == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]*sighting{}
	}
	now, s := c.now(), c.seen[claim]
	if s == nil || s.beats != beats || now.Sub(s.last) > blindFor {
		s = &sighting{beats: beats, at: now}
		c.seen[claim] = s
	}
	s.last = now
}

// dead reports whether the process that has a claim has ended, as far as this one knows.
func (c *claims) dead(claim string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mine[claim] != nil {
		return false
	}
	if c.path == "" {
		s := c.seen[claim]
		return s != nil && s.last.Sub(s.at) >= silentFor
	}
	token, _, _ := strings.Cut(claim[strings.LastIndexByte(claim, ' ')+1:], ".")
	if token == c.token {
		return true // this process has given it up
	}
	name := c.path + lockInfix + filepath.Base(token)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	lock, err := tryLock(name)
	if lock == nil || err != nil {
		return false
	}
	lock.Close()
	return true
}

// news reports whether claims have died since the last check, and forgets those that are not in all any more.
func (c *claims) news(all []string) bool {
	found, dead := false, map[string]bool{}
	for _, claim := range all {
		if c.dead(claim) {
			dead[claim] = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for claim := range dead {
		found = found || !c.told[claim]
	}
	c.told = dead
	for claim, s := range c.seen {
		if c.now().Sub(s.last) > time.Hour {
			delete(c.seen, claim)
		}
	}
	return found
}
