package runs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A client that got no answer sends its request again, perhaps to another process that shares the store. With an
// idempotency key it gets the run that the first request began. The key and the run are in the store before the program
// starts, claimed by the process like a parked run. So each key begins one run, whichever process dies at whatever
// moment: another process ends the run of a dead one, and reads from the record what it did.

// ErrKeyReused refuses a request with the idempotency key of a different request.
var ErrKeyReused = errors.New("this idempotency key was used with another request before (another profile, program " +
	"or input); nothing was run: take a new key for a new request")

// errKeyTaken says that another request with the same idempotency key was enrolled first.
var errKeyTaken = errors.New("another request with this idempotency key was faster")

// MaxIdempotencyKey is the longest idempotency key, in bytes.
const MaxIdempotencyKey = 255

// checkKey returns an error if an idempotency key is invalid.
func checkKey(key string) error {
	if len(key) > MaxIdempotencyKey {
		return fmt.Errorf("the idempotency key has %d bytes, the limit is %d", len(key), MaxIdempotencyKey)
	}
	for _, c := range key {
		if c <= ' ' || c > '~' {
			return errors.New("an idempotency key has letters, digits and punctuation of ASCII, and no spaces: take a UUID")
		}
	}
	return nil
}

// keyID is the row of a key. Each principal has its own keys.
func keyID(principal, key string) string { return digestOf([]string{principal, key}) }

// digest differs between requests for different programs, or under different rules. The sender, the connection and the
// layout of the JSON make no difference.
func (r *Request) digest() string {
	same := *r
	same.Name, same.Local, same.Client, same.Fingerprint, same.Role, same.EveryCall = "", false, "", "", "", false
	if same.Script != "" {
		same.Code = "" // it may have changed since
	}
	if !inforce.IsMadeSession(same.ClientSession) {
		same.ClientSession = "" // of the protocol, which ends with the connection
	}
	switch canonical, err := strictjson.Canonical(same.Input); {
	case err == nil:
		same.Input = canonical
	case len(same.Input) > 0: // readers could disagree about it, so only equal bytes are the same
		same.Input = marker(string(same.Input))
	}
	return digestOf(same)
}

func digestOf(v any) string {
	js, _ := json.Marshal(v) // texts, and JSON that was checked
	sum := sha256.Sum256(js)
	return hex.EncodeToString(sum[:])
}

// keyOf is the key of a request; nil if it has none.
func keyOf(r *Request, k *recorder.Recorder) (*store.Key, error) {
	if r.IdempotencyKey == "" {
		return nil, nil
	}
	if err := checkKey(r.IdempotencyKey); err != nil {
		return nil, err
	}
	if !k.Keeps() {
		return nil, errors.New("an idempotency key needs a store, and this process has none")
	}
	return &store.Key{ID: keyID(r.Principal, r.IdempotencyKey), Request: r.digest()}, nil
}

// lostRace answers a request when another one with its key was enrolled first.
func (e *Executor) lostRace(ctx context.Context, key *store.Key, r Request) (*Response, error) {
	run, err := findByKey(ctx, e.record, key)
	if err == nil && run == "" {
		err = errors.New("not started: another request with this idempotency key was faster, and its result is gone")
	}
	if err != nil {
		return nil, err
	}
	return e.repeated(ctx, run, r)
}

// findByKey finds the run that an earlier request with the key began; "" if there was none.
func findByKey(ctx context.Context, k *recorder.Recorder, key *store.Key) (run string, err error) {
	db, err := k.DB(ctx)
	if err != nil {
		return "", unasked(err)
	}
	was, err := db.Keys.Keyed(ctx, key.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", nil
	case err != nil:
		return "", unasked(err)
	case was.Request != key.Request:
		return "", ErrKeyReused
	}
	return was.Run, nil
}

func unasked(err error) error {
	return fmt.Errorf("not started: looking up whether this idempotency key was used before failed: %w", err)
}

// repeated answers a request with the run that an earlier one began.
func (e *Executor) repeated(ctx context.Context, run string, r Request) (*Response, error) {
	e.log.Info("a repeated request gets the run that the first one began", "run", run)
	response, err := e.Reattach(ctx, run, r)
	if errors.Is(err, ErrNoRun) {
		err = fmt.Errorf("a request with this idempotency key began run %s, which has ended; its result is not stored any "+
			"more, and the program was not run again", run)
	}
	return response, err
}

// enroll stores the run before the program starts, with its key and its session, if it has them. errKeyTaken says that
// another request has the key, and [store.ErrTaken] that another run goes on in the session. Without a database there
// is nothing to do.
func (e *Executor) enroll(
	ctx context.Context, key *store.Key, r *Request, p *inforce.Policy, run string, engine Engine,
	session string, sessionEnds time.Time,
) (*store.ParkedRun, error) {
	if !e.record.Keeps() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	gate, err := e.gate.Run(hostfns.RunInfo{ID: run}).Save()
	if err != nil {
		return nil, err
	}
	state, err := json.Marshal(savedRun{
		V: savedVersion, Request: *r, Started: time.Now(), Gate: gate, Under: saveRules(e.rules, p),
	})
	if err != nil {
		return nil, err
	}
	row := &store.ParkedRun{
		Run: run, Principal: r.Principal, Profile: cmp.Or(r.Profile, p.ProfileName()), State: state,
		Guest: engine.Hash(), Holder: holder(), Expires: time.Now().Add(endedKeep),
		Session: session, SessionEnds: sessionEnds,
	}
	db, err := e.record.DB(ctx)
	if err != nil {
		return nil, fmt.Errorf("storing the run failed: %w", err)
	}
	if key != nil {
		key.Run = run
	}
	err = db.Keys.Enroll(ctx, key, row)
	switch {
	case errors.Is(err, store.ErrTaken) && session == "":
		return nil, errKeyTaken
	case errors.Is(err, store.ErrTaken) && key != nil: // which of the two?
		if was, unread := db.Keys.Keyed(ctx, key.ID); unread == nil && was.Run != run {
			return nil, errKeyTaken
		}
		return nil, err
	case errors.Is(err, store.ErrTaken), errors.Is(err, store.ErrNotFound):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("storing the run failed: %w", err)
	}
	return row, nil
}

// bindName lets the client of a run that is given up reattach to it, with the name of the run as its key.
func (e *Executor) bindName(ctx context.Context, db *store.DB, r *Request, run string) {
	if r.IdempotencyKey != "" {
		return
	}
	err := db.Keys.Enroll(ctx, &store.Key{ID: keyID(r.Principal, run), Request: r.digest(), Run: run}, nil)
	if err != nil && !errors.Is(err, store.ErrTaken) { // it was bound before
		e.log.Warn("storing the name of a run as its idempotency key failed", "run", run, "error", err)
	}
}
