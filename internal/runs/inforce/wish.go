package inforce

// A Wish says who wants to run what. The server knows all of it, except Role, which the caller claims.
type Wish struct {
	Profile, Code, Name, Script string
	Bound                       bool // the saved program must not run under another profile
	Unrestricted                bool // without a profile it runs under no rules but those for everybody

	Principal, Session, Fingerprint, Role string
	Unchecked                             bool // nobody verified Principal
}

// Owner is the principal that provides the share; "" is the common share of all that have none of their own.
func (w *Wish) Owner() string {
	if w.Unchecked {
		return ""
	}
	return w.Principal
}
