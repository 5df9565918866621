package recorder

// DeriveKey makes a key of 32 bytes out of that of the record, for one purpose: processes that share the key of the
// record share it too. Without a record the key is nil.
func (k *Recorder) DeriveKey(purpose string) []byte {
	if k.Key == nil {
		return nil
	}
	return k.Key.Derive(purpose)
}
