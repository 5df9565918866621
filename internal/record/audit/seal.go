package audit

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// The values that an entry can have sealed, beside its texts.
const (
	sealedArgs    = "args"
	sealedResult  = "result"
	sealedProgram = "program"
	sealedData    = "data"
	sealedTools   = "tools"
)

// seal encrypts the values that the entry does not show as they are. The entry holds the digest of the encrypted bytes,
// so that its hash covers them.
func (e *Entry) seal(k *Key, values map[string][]byte) {
	if len(values) == 0 {
		return
	}
	plain, _ := json.Marshal(values) // bytes always encode
	e.sealed = string(k.seal.Seal(nil, nil, plain, nil))
	e.Sealed = sealedDigest(e.sealed)
}

// sealedDigest is [Entry.Sealed] for encrypted bytes.
func sealedDigest(sealed string) string {
	if sealed == "" {
		return ""
	}
	return hashText(sha256.Sum256([]byte(sealed)))
}

// sealedTexts are the names of [Entry.texts].
var sealedTexts = [...]string{"client", "session", "script", "tool", "detail"}

// texts are the members of an entry that others than codemode may have chosen.
func (e *Entry) texts() [len(sealedTexts)]*string {
	return [...]*string{&e.Client, &e.Session, &e.Script, &e.Tool, &e.Detail}
}

// Reveal puts the sealed values of an entry in the places of those that it shows. Its hash does not cover the entry
// then. The entry has to come from a [store.Query] with Sealed.
func (e *Entry) Reveal(k *Key) error {
	if e.Sealed == "" {
		return nil
	}
	fail := func(why string) error {
		return fmt.Errorf("the sealed values of entry %d of chain %d cannot be shown: %s", e.Seq, e.Chain, why)
	}
	if sealedDigest(e.sealed) != e.Sealed {
		return fail("they are missing or were changed; run codemode audit verify")
	}
	plain, err := k.seal.Open(nil, nil, []byte(e.sealed), nil)
	if err != nil {
		return fail("another key than this one sealed them")
	}
	values := map[string][]byte{}
	if err := json.Unmarshal(plain, &values); err != nil {
		return fail(err.Error())
	}
	for i, text := range e.texts() {
		if raw, ok := values[sealedTexts[i]]; ok {
			*text = string(raw)
		}
	}
	for name, raw := range values {
		switch {
		case name == sealedArgs && e.Args != nil:
			e.Args.Redacted, e.Args.Bytes = whole(raw), 0
		case name == sealedResult && e.Result != nil:
			e.Result.Redacted = whole(raw)
		case name == sealedProgram && e.Program != nil:
			e.Program.Text = string(raw)
		case name == sealedData:
			e.Data = whole(raw)
		case name == sealedTools:
			err = errors.Join(err, json.Unmarshal(raw, &e.Tools))
		}
	}
	e.Sealed, e.sealed = "", ""
	return err
}

// whole returns JSON as it is, and any other text as a JSON string.
func whole(raw []byte) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	return strictjson.AppendString(nil, string(raw))
}
